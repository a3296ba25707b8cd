"""Texts that are hard to read alike: all kinds of blanks, capitals of other scripts, money, dates as people write."""

import datetime as dt

BLANKS = [chr(number) for number in range(1, 0x3001) if chr(number).isspace()]
WORDS = [
    "straße",
    "STRASSE",
    "Straſſe",
    "STRAẞE",
    "kelvin",
    "\u212aELVIN",
    "ﬁsh",
    "FISH",
    "İstanbul",
    "i̇stanbul",
    "ISTANBUL",
]
WORDS += [
    "ıstanbul",
    "é",
    "É",
    "e\u0301",
    "E\u0301",
    "ΣΑΣ",
    "σας",
    "𐐀",
    "𐐨",
    "ŉ",
    "",
    " ",
    "NA",
    "na",
    "N/A",
    "ｎａ",
    None,
]
WORDS += [
    "1",
    "01",
    "1.0",
    "+1",
    "+-1",
    "1_0",
    "10",
    "1e1",
    "１",
    "٣",
    "1e400",
    "inf",
    "inﬁnity",
    "-0",
    "0",
    "nan",
    "7.",
]
WORDS += [
    "true",
    "TRUE",
    " True ",
    "false",
    "x" * 70_000,
    "ß" * 66_000,
    "\1",
    "\2",
    "it's",
    "back\\slash",
    "line\nend",
    "%s",
]
WORDS += ["${x}", "north", "BX", "bx ", "I21.9", "i21", "2020-01-31", "\U0001f600a", "a\tb", "fis", "fish\u2028"]
WORDS += (
    [blank + "Na" for blank in BLANKS]
    + ["fish" + blank for blank in BLANKS]
    + ["\t" + blank + "true" for blank in BLANKS]
)
DOLLARS = {
    **{
        "1": 1,
        "$1,250.50": 1250.5,
        " $ 5 ": 5,
        "5 $": 5,
        "-$5": -5,
        "$-5": -5,
        "\u22125": -5,
        "(5)": -5,
        "($5.00)": -5,
    },
    **{
        "5 usd": 5,
        "Usd5": 5,
        "12,34,567": 1_234_567,
        "1e2": 100,
        "1E+3": 1000,
        ".5": 0.5,
        "5.": 5,
        "+-5": -5,
        "- 5": -5,
    },
    **{"1\t": 1, "\u00a01": 1, " " * 800 + "5": 5, "0" * 850 + "1": 1, "1e400": float("inf")},
    **dict.fromkeys(
        ("1,2,3", "--5", "-+5", "$ 1 000", "1,23", "1.250,50", "$5$5", "(5", "5\u2028", "5\u0085", "$", "")
    ),
    **dict.fromkeys(
        ("１２", "٣", "1_0", "inf", "5 k", "usd", "1e1000", " " * 60_000 + "x", "0" * 2000, "1" + ",000" * 900)
    ),
    **dict.fromkeys((" ", "(-5)", "NA")),
}
"""With dollars and commas between thousands."""
CROWNS = {
    **{
        "1": 1,
        "1 250,50 Kr": 1250.5,
        "1\u202f000": 1000,
        "1\u00a0000\u2009000": 1_000_000,
        "5 \u212ar": 5,
        "kr.5": 5,
        ",5": 0.5,
    },
    **dict.fromkeys(("1.250,50", "1,250.50", "5 k", "1'000", "1 00", "x")),
}
"""With crowns, blanks between thousands and a decimal comma."""


def moment(*parts):
    return (dt.datetime(*parts) - dt.datetime(1970, 1, 1)) // dt.timedelta(seconds=1)


STAMPS = {
    "31.12.2024": moment(2024, 12, 31),
    " 1.2.24\t": moment(2024, 2, 1),
    "1.1.69": moment(1969, 1, 1),
    "1.1.68": moment(2068, 1, 1),
    "29.2.2024": moment(2024, 2, 29),
    "12/25/2024 12:30 am": moment(2024, 12, 25, 0, 30),
    "12/25/2024 12:30 PM": moment(2024, 12, 25, 12, 30),
    "Mon 3 Mar 2025": moment(2025, 3, 3),
    "3 MARCH 2025": moment(2025, 3, 3),
    "2024-03-01T12:00": moment(2024, 3, 1, 12),
    "2024-03-01T12:00Z": moment(2024, 3, 1, 13),
    "01022024": moment(2024, 2, 1),
    "1122024": moment(2024, 2, 11),
    **dict.fromkeys(("30.2.2024", "29.2.2023", "1.13.2024", "0.1.2024", "12/25/2024 13:00 pm", "12/25/2024 0:30 am")),
    **dict.fromkeys(
        ("3 Foo 2025", "3 Mars 2025", "１.2.2024", "1.2.2024\u2028", "\u30001.2.2024", "x", "", "NA", "1" * 200)
    ),
}
"""In the formats below, on the clock of Berlin."""
FORMATS = ["%d.%m.%y", "%d.%m.%Y", "%m/%d/%Y %I:%M %p", "%a %d %b %Y", "%d %B %Y", "%d%m%Y"]
SECONDS = {1_717_200_000: moment(2024, 6, 1, 2), -1: moment(1970, 1, 1, 0, 59, 59), 2**62: None, None: None}

COLUMNS = {
    "word": ("string", "text", WORDS),
    "dollars": ("string", "varchar", list(DOLLARS)),
    "crowns": ("string", "text", list(CROWNS)),
    "stamp": ("string", "text", list(STAMPS)),
    "seconds": ("int64", "bigint", list(SECONDS)),
}
LENGTH = len(WORDS)
ROWS = {name: [values[place % len(values)] for place in range(LENGTH)] for name, (_, _, values) in COLUMNS.items()}
LOOK_UP = {"1": "north", "FISH": "south", "BX": "nowhere", "true": "north", "é": "south", "x": "North", "ſ": "7"}
LOOK_UP |= {f"code {number}": "south" for number in range(20)} | {"10": "7"}
