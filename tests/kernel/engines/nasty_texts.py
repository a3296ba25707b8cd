"""Fourteen thousand nasty texts from a seeded program, and what each stands for in plain Python.

The readings here share nothing with the product: numbers are taken apart digit by digit and become fractions, amounts
are peeled sign by sign, dates are read by ``strptime``.
"""

import datetime as dt
import math
import random
import re
from fractions import Fraction

from plain_oracle import OUTSIDE, iso

COUNT = 14_000
BLANKS = [chr(number) for number in range(1, 0x3001) if chr(number).isspace()] + ["\u200b", "\ufeff"]
ASCII_BLANKS = " \t\n\r\v\f"
DIGITS = ["0123456789", "٠١٢٣٤٥٦٧٨٩", "０１２３４５６７８９", "०१२३४५६७८९", "𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗"]
WORDS = ["true", "TRUE", "false", "yes", "No", "t", "F", "y", "n", "on", "inf", "-Infinity", "nan", "NaN", "null", "NA"]
WORDS += [
    "straße",
    "STRASSE",
    "Straſſe",
    "STRAẞE",
    "ﬁsh",
    "FISH",
    "İstanbul",
    "i̇stanbul",
    "ısı",
    "ΣΑΣ",
    "σας",
    "ŉ",
    "e\u0301",
]
WORDS += [
    "kelvin",
    "\u212aelvin",
    "north",
    "NORTH",
    "n0rth",
    "x",
    "\U0001f600",
    "a\u0000b".replace("\0", ""),
    "\\N",
    "%s",
    "$",
]
MONTHS = ["January", "march", "MAY", "Sept", "December", "Mai", "Jan", "feb", "Foo"]
LEVELS = ["strasse", "fish", "north", "1", "true", "7.5", "it's", "é"]
MISSING = ["NA", "x"]
FORMATS = ["%d.%m.%y", "%d.%m.%Y", "%m/%d/%Y %I:%M %p", "%d %B %Y"]


def texts(count=COUNT, seed=30):
    """Numbers, amounts, dates, lengths of time, words, and bits of all of them."""
    draw = random.Random(seed)
    makers = [number, amount, date, moment, written, length, word, junk]
    return [damaged(draw, makers[place % len(makers)](draw)) for place in range(count)]


def digits(draw, most=6):
    script = draw.choice(DIGITS) if draw.random() < 0.06 else DIGITS[0]
    return "".join(draw.choice(script) for _ in range(draw.randrange(most) + 1))


def number(draw):
    text = draw.choice(["", "", "", "-", "+", "+-", "--", "+ ", "\u2212"]) + digits(
        draw, draw.choice([1, 2, 2, 6, 25, 400])
    )
    text += draw.choice(["", "", ".", ",", "_", "__"]) + draw.choice(["", digits(draw)])
    return text + draw.choice(
        ["", "", "", "e" + digits(draw, 2), "E-" + digits(draw, 2), "e+" + digits(draw, 6), "d0", "f", "%"]
    )


def amount(draw):
    groups = [
        digits(draw, 3),
        *(
            "".join(draw.choice("0123456789") for _ in range(draw.choice([3, 3, 3, 2, 4])))
            for _ in range(draw.randrange(3))
        ),
    ]
    sign, money = (
        draw.choice(["", "", "-", "+", "- ", "\u2212"]),
        draw.choice(["", "$", "$ ", "usd", "USD ", "Uſd", "€"]),
    )
    text = sign + money + draw.choice(["", "", "-"]) + draw.choice([",", ",", ",", " ", "."]).join(groups)
    text += draw.choice(["", "", ".50", ".", ",5", "e2"]) + draw.choice(["", "", " $", "usd", "\u00a0"])
    return draw.choice([text, text, text, f"({text})", f" ( {text})", f"({text}"])


def date(draw):
    year = draw.choice(["2024", "2024", "1999", "0001", "9999", "0000", "24", digits(draw, 5)])
    return draw.choice(["-", "-", "-", "/", ".", "\u2010"]).join(
        [year, f"{draw.randrange(14):02}", f"{draw.randrange(33):02}"]
    )


def moment(draw):
    clock = f"{draw.randrange(26):02}:{draw.randrange(61):02}" + draw.choice(["", f":{draw.randrange(62):02}"])
    clock += draw.choice(["", "", ".5", ",25", ".123456789", "."])
    zone = draw.choice(["", "", "Z", "z", " Z", "+01:00", "-0530", "+14", "+24:00", "+01:60", " +02", "UTC", "  Z"])
    return date(draw) + draw.choice(["T", " ", " ", "t", "  ", "_"]) + clock + zone


def written(draw):
    day, month, year = (
        str(draw.randrange(33)),
        str(draw.randrange(14)),
        draw.choice(["2024", "24", "1969", "69", "68", "999"]),
    )
    if draw.random() < 0.3:
        return f"{draw.choice(['', '0'])}{day} {draw.choice(MONTHS)} {year}"
    if draw.random() < 0.4:
        clock = f"{draw.randrange(14)}:{draw.randrange(61):02} {draw.choice(['am', 'PM', 'p', 'pM', ''])}"
        return f"{month.zfill(draw.choice([1, 2]))}/{day}/{year} {clock}"
    return f"{day.zfill(draw.choice([1, 2]))}.{month}.{year}"


def length(draw):
    clock = ":".join(f"{draw.randrange(70):02}" for _ in range(draw.choice([2, 3, 4])))
    iso_form = (
        "P"
        + draw.choice(["", "1D", "2.5D", "1W"])
        + draw.choice(["", "T", "T1H", "T90M", "T1.5H3S", "T-5S", "T1e3S", "T1e-3S"])
    )
    shown = draw.choice(
        [clock, f"{draw.randrange(3)} days {clock}", f"1 day, {clock}", iso_form, digits(draw), f"{clock}.5"]
    )
    return draw.choice(["", "", "-", "+"]) + shown


def word(draw):
    return draw.choice([*WORDS, *LEVELS])


def junk(draw):
    if draw.random() < 0.02:
        return draw.choice(["9", "x", "0", " ", "ß", "1,"]) * draw.choice([101, 899, 901, 66_000]) + draw.choice(
            ["", "7", "x"]
        )
    return "".join(
        chr(draw.choice([draw.randrange(1, 0x80), draw.randrange(0xA0, 0x2100), draw.randrange(0x10000, 0x10400)]))
        for _ in range(draw.randrange(6))
    )


def damaged(draw, text):
    """As it is, or with blanks around it, or with a sign more or less, or in other capitals."""
    way = draw.randrange(10)
    if way < 2:
        return draw.choice(BLANKS) * draw.randrange(3) + text + draw.choice(BLANKS)
    if way == 2 and text:
        place = draw.randrange(len(text))
        return (
            text[:place]
            + draw.choice(["", "0", "\x1c", "\u0663", " ", "\t", "_", "\x01", "'", '"', "\u0301"])
            + text[place + 1 :]
        )
    return {3: text.upper(), 4: text.lower(), 5: text.swapcase()}.get(way, text)


# ---- what a text stands for -----------------------------------------------------------------------------------------

_DIGITS = r"[0-9](?:_?[0-9])*"
_NUMBER = re.compile(rf"([+-]?)(?:({_DIGITS})(?:\.({_DIGITS})?)?|\.({_DIGITS}))(?:[eE]([+-]?{_DIGITS}))?")


def number_of(text):
    """The double nearest to what the digits say; None for none. One plus may stand before it all."""
    text = text.strip(ASCII_BLANKS)
    text = (text[1:] if text.startswith("+") else text).strip(ASCII_BLANKS)
    match = _NUMBER.fullmatch(text)
    if match is None:
        sign, bare = text[:1] == "-", text[1:] if text[:1] in "+-" else text
        named = {"inf": math.inf, "infinity": math.inf, "nan": math.nan}
        value = named.get(bare.lower()) if bare.isascii() else None
        return None if value is None else -value if sign else value
    sign, whole, fraction, alone, power = ("" if part is None else part.replace("_", "") for part in match.groups())
    behind = fraction or alone
    shown, exponent = (whole + behind).lstrip("0"), max(-(10**6), min(10**6, int(power or 0))) - len(behind)
    if len(shown) > 900:  # what follows is told apart from a tie by one digit more
        shown, exponent = shown[:900] + "1", exponent + len(shown) - 901
    if not shown or len(shown) + exponent < -400:
        double = 0.0
    else:
        double = math.inf if len(shown) + exponent > 309 else _nearest(Fraction(int(shown)) * Fraction(10) ** exponent)
    return -double if sign == "-" else double


def _nearest(value):
    try:
        return float(value)
    except OverflowError:
        return math.inf


def amount_of(text):
    """With $ or USD, and commas between thousands; brackets mean less than nothing."""
    blanks = " \t\r\n\u00a0\u202f\u2009"
    if len(text) > 900:
        return None
    text, signs = text.strip(blanks), ""
    if text.startswith("(") and text.endswith(")"):
        text, signs = text[1:-1].strip(blanks), "-"

    def money(text):
        return next((size for sign in ("usd", "$") for size in [len(sign)] if text[:size].casefold() == sign), 0)

    for turn in range(2):
        if text[:1] in ("+", "-", "\u2212") and text[:1]:
            signs, text = signs + text[0].replace("\u2212", "-"), text[1:].lstrip(blanks)
        if not turn:
            text = text[money(text) :].lstrip(blanks) if money(text) else text
    tail = next((size for size in (3, 1) if len(text) > size and money(text[-size:]) == size), 0)
    text = text[: len(text) - tail].rstrip(blanks) if tail else text
    match = re.fullmatch(r"([0-9,]*)(\.[0-9]*)?([eE][+-]?[0-9]{1,3})?", text)
    if match is None or text[:1] in ("", "e", "E"):
        return None
    whole, fraction, power = (part or "" for part in match.groups())
    groups = whole.split(",")
    sizes = [len(group) for group in groups]
    if len(groups) > 1 and not (1 <= sizes[0] <= 3 and sizes[-1] == 3 and all(2 <= size <= 3 for size in sizes[1:])):
        return None
    return None if not whole and len(fraction) < 2 else number_of(signs + "".join(groups) + fraction + power)


def truth_of(text):
    """Neither true nor false is outside."""
    word = text.strip().lower()
    known = {
        **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
        **dict.fromkeys(("f", "false", "n", "no", "0"), False),
    }
    value = known.get(word, number_of(word))
    return bool(value) if value in (0, 1) else OUTSIDE


def _plain_number(text):
    number = number_of(text) if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", text) else None
    return number if number is not None and math.isfinite(number) else None


def duration_of(text, unit):
    """In units of so many seconds: a number, 1:30:00 or PT1H30M."""
    text = text.strip(ASCII_BLANKS)
    if len(text) > 100 or not text.isascii():
        return None
    value = _plain_number(text)
    if value is not None:
        return value
    sign, bare = (-1 if text[:1] == "-" else 1), text[1:] if text[:1] in ("+", "-") else text
    match = re.fullmatch(r"(?:(\d{1,9}) days?,? )?(\d{1,9}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?", bare)
    if match is None:
        match = re.fullmatch(
            r"P(?:([\d.]+)D)?(?:T(?:([\d.]+)H)?(?:([\d.]+)M)?(?:(-?[\d.]+(?:[eE][+-]?\d{1,3})?)S)?)?", bare
        )
        if match is None or bare.endswith(("P", "T")):
            return None
    parts = [number_of(part or "0") for part in match.groups()]
    if None in parts or any(
        part is not None and (part.endswith(".") or part.lstrip("-").startswith(".")) for part in match.groups()
    ):
        return None
    days, hours, minutes, seconds = parts
    return sign * (((days * 24 + hours) * 60 + minutes) * 60 + seconds) / unit


def stamp_of(text):
    """In one of the formats, or as ISO 8601."""
    text = text.strip(ASCII_BLANKS)
    if len(text) > 100 or not text.isascii():
        return None
    if all(blank == " " for blank in re.findall(r"\s", text)) and not re.search(r"  |[./] | [./]|: | :", text):
        for form in FORMATS:
            try:
                return dt.datetime.strptime(text, form)
            except ValueError:
                continue
    return iso(text)


def unix_of(text):
    """Seconds since 1970 began."""
    text = text.strip(ASCII_BLANKS)
    value = _plain_number(text) if len(text) <= 100 else None
    if value is not None and -62_135_596_800 <= value < 253_402_300_800:
        return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=math.floor(value))
    return iso(text)


def level_of(text):
    """The number of a level, whatever capitals and blanks it has; None for no value, OUTSIDE for no level."""
    text = text[: 1 << 16].strip().casefold()
    if text in [word.casefold() for word in MISSING] or text == "\1":
        return None
    known = {level.casefold(): place for place, level in enumerate(LEVELS)}
    return known[text] if text in known else _worth(text.strip())


def exact_level_of(text):
    """The same with capitals, and without spaces alone."""
    text = text[: 1 << 16].strip(" ")
    return LEVELS.index(text) if text in LEVELS else _worth(text.strip())


def _worth(text):
    """Of a level that is another spelling of the same number, or of true."""
    if text.lower() == "true":
        return LEVELS.index("true")
    value = number_of(text) if "_" not in text and not re.match(r"\+[^0-9.]", text) else None
    return {1.0: LEVELS.index("1"), 7.5: LEVELS.index("7.5")}.get(value, OUTSIDE)
