"""Wrong values for every field of every form, and what must be said of each.

A page has a name here, and the names of fields are those of its HTML. What a form cannot offer, such as a level that is
in no list, is sent as a form; everything else is typed into the page by :mod:`test_wrong_values`.
"""

from dataclasses import dataclass, field

LONG = "9" * 300
NOT_PRINTED = "a\x07b"


@dataclass(frozen=True)
class Typed:
    """What is typed into a text field, and a part of what must be said."""

    value: str
    said: str
    path: dict = field(default_factory=dict)
    """What the form has otherwise, beside what the page has at first: as a query, or typed before."""
    press: str = ""
    """The button that sends it; Enter if empty."""
    given: bool = True
    """Whether the sentence repeats what was given, where that is short."""


@dataclass(frozen=True)
class Sent:
    """What is sent as a form, because the page does not offer it."""

    value: object
    said: str
    path: dict = field(default_factory=dict)
    more: dict = field(default_factory=dict)
    """Further fields, such as a button."""
    leads: bool = False
    """Whether it leads to a page without a mistake, which says this."""


def numbers(*more, whole=False, positive=True, **options):
    """What no number can be; in a field of whole numbers, all of these get the same sentence."""
    if whole:
        said = options.pop("said")
        texts = ("some", "nan", "inf", "1e400", "-1", "0,5", "1.5", LONG, NOT_PRINTED)
        return [Typed(text, said, **options) for text in texts] + list(more)
    return [
        Typed("much", "must be a finite number", **options),
        Typed("nan", "must be a finite number", **options),
        Typed("inf", "must be a finite number", **options),
        Typed("1e400", "too many digits", **options),
        Typed("0,5", "Write 0.5 with a dot", **options),
        Typed("1,000", "Write 1000 without a comma, or 1.", **options),
        Typed(LONG, "too many digits", given=False, **{key: own for key, own in options.items() if key != "given"}),
        Typed(NOT_PRINTED, "must be a finite number", **options),
        *([Typed("-1", "greater than 0", **options), Typed("0", "greater than 0", **options)] if positive else []),
        *more,
    ]


ERROR = {"press": "Find the ε for it"}
AGED = {"condition": "age", "comparison": ">="}
WARD = {"condition": "sex", "comparison": "="}
COST = {"condition": "cost", "comparison": "between"}
FITTED = {"error": "20"}
COUNT = {"q": "count"}
OPEN = {"press": "Open this table"}
SURE = {"epsilon": "20", "price": "20"}

TABLE: dict[tuple[str, str], list] = {
    # ---- signing in
    ("enter", "token"): [
        Typed("nonsense", "This token is not valid", given=False),
        Typed("adyton_0123456789abcdef_nonsense", "This token is not valid", given=False),
        Typed("x" * 5000, "token", given=False),
        Sent("", "Paste your token"),
    ],
    ("enter", "to"): [Sent("//elsewhere.example/", "Paste your token", more={"token": ""})],
    # ---- asking: what all questions have
    ("ask", "epsilon"): numbers(
        Typed("", "Give a budget"), Typed("1e-99", "too many digits"), Typed("1000", "Ask for at most")
    ),
    ("ask", "where"): [
        Typed("age", "is not a condition"),
        Typed("agee > 3", "Did you mean 'age'?", given=False),
        Typed("sex = 'Q'", "Its levels are 'F', 'M'", given=False),
        Typed("sex >= 'F'", "can be compared with =", given=False),
        Typed("ill > 3", "is true or false", given=False),
        Typed("who = 3", "is null or is not null", given=False),
        Typed("age >= '0,5'", "Write 0.5 with a dot", given=False),
        Typed("age = 1e300", "at most 18 digits", given=False),
        Typed("age between 60 and 30", "Write 30 first, then 60", given=False),
        Typed("not (age >= 60 and age <= 30)", "every row with a value of age is outside it", given=False),
        Typed("day = '2024-02-30'", "must be a date", given=False),
        Typed("day = '31.12.2024'", "is written 2024-12-31", given=False),
        Typed("drop table x; select 1", "semicolon", given=False),
        Typed("sum(age) > 3", "a function call", given=False),
        Typed("x" * 10_000, "attribute", given=False),
        Typed("age = 3 -- all", "comment", given=False),
    ],
    ("ask", "condition"): [Sent("agee", "Did you mean 'age'?", more={"value": "3"})],
    ("ask", "comparison"): [Sent("~", "There is no comparison '~'", more={"condition": "age", "value": "3"})],
    ("ask", "value"): [
        Typed("", "Give a value", AGED),
        Typed("old", "Compare it with a number", AGED),
        Typed("nan", "Compare it with a number", AGED),
        Typed("1e400", "Compare it with a number", AGED),
        Typed("0,5", "Write 0.5 with a dot", AGED),
        Typed("200", "no value of at least 200 is expected", AGED),
        Typed("200", "no value of 200 is expected", AGED | {"comparison": "="}),
        Typed("-1", "no value below -1 is expected", AGED | {"comparison": "<"}),
        Typed("200, 300", "no value of 200, 300 is expected", AGED | {"comparison": "in"}),
        Typed("200 to 300", "no value from 200 to 300 is expected", AGED | {"comparison": "between"}),
        Typed("60 to 30", "Write 30 first, then 60", AGED | {"comparison": "between"}, given=False),
        Typed("20", "Give both ends", AGED | {"comparison": "between"}, given=False),
        Typed("0,5", "can be read as one number or as two", COST),
        Typed("0,5", "can be read as one number or as two", COST | {"comparison": "in"}),
        Typed("Q", "Its levels are 'F', 'M'", WARD),
        Typed(NOT_PRINTED, "Its levels are 'F', 'M'", WARD),
        Typed("F", "can be compared with =", WARD | {"comparison": ">="}, given=False),
        Typed("2024-02-30", "must be a date", {"condition": "day", "comparison": "="}),
        Typed("31.12.2024", "is written 2024-12-31", {"condition": "day", "comparison": ">"}),
        Typed("2030", "no value above 2030 is expected", {"condition": "day", "comparison": ">"}),
        Typed("maybe", "is true or false", {"condition": "ill", "comparison": "="}),
        Typed("3", "Choose the attribute", given=False),
        Typed("x" * 20_000, "Compare it with a number", AGED, given=False),
    ],
    ("ask", "error"): numbers(
        Typed("", "Give the error that you can live with", **ERROR),
        Typed("5%", "Give the number that 5% is a part of", **ERROR),
        Typed("0%", "greater than 0", given=False, **ERROR),
        Typed("-5", "greater than 0", **ERROR),
        **ERROR,
    ),
    ("ask", "of"): numbers(path={"error": "5%"}, **ERROR),
    ("ask", "often"): [Sent("never", "how often the error must hold", FITTED, {"do": "fit"})],
    ("ask", "algorithm"): [Sent("magic", "no algorithm 'magic'"), Sent("quadtree", "2 dimensions")],
    ("ask", "misfits"): [Sent("2", "less than 1"), Sent("many", "finite number"), Sent("0,1", "Write 0.1 with a dot")],
    ("ask", "id"): [Sent("../x", "no id of a request", more={"price": "0.1"})],
    ("ask", "question"): [Sent("nothing", "There is no question 'nothing'")],
    ("ask", "do"): [Sent("nonsense", "Nothing was sent yet")],
    ("ask", "price"): [Sent(text, "Nothing was sent yet") for text in ("", "0.2", "nan", "0,1")],
    ("ask", "sure"): [Sent(text, "tick that you accept", SURE, {"price": "20"}) for text in (None, "yes", "3")],
    # ---- asking: the fields of each question
    ("ask", "first"): [Sent("agee", "Did you mean 'age'?"), Sent("", "Choose an attribute")],
    ("ask", "second"): [Sent("age", "You have chosen age already"), Sent("agee", "agee")],
    ("ask", "third"): [Sent("age", "You have chosen age already")],
    ("ask", "number"): [Sent("sex", "it has no"), Sent("nothing", "no attribute 'nothing'"), Sent("", "Choose")],
    ("ask", "by"): [Sent("cost", "You have chosen cost already", {"number": "cost"}), Sent("agee", "agee")],
    ("ask", "by2"): [Sent("sex", "You have chosen sex already", {"by": "sex"})],
    ("ask", "rows"): numbers(Typed("0", "a whole number from 1 to"), whole=True, said="a whole number from 1 to"),
    ("ask-quantiles", "at"): [
        Typed("0,1", "Write 0.1 with a dot, or 0, 1 with a blank"),
        Typed("0,5", "Write 0.5 with a dot"),
        Typed("1.5", "a number from 0 to 1"),
        Typed("0.5, 3", "a number from 0 to 1", given=False),
        Typed("-0.1", "a number from 0 to 1"),
        Typed("most", "a number from 0 to 1"),
        Typed("nan", "a number from 0 to 1"),
        Typed("1e400", "a number from 0 to 1"),
        Typed("", "at least one quantile", given=False),
        Typed(", ".join(["0.5"] * 1100), "at most 1,000, given 1,100", given=False),
    ],
    ("ask-rows-of-people", "most"): numbers(
        Typed("", "such as 20"), Typed("0", "from 1 to"), Typed("100001", "from 1 to"), whole=True, said="from 1 to"
    ),
    ("ask-pairs", "attributes"): [Sent(["age"], "at least two"), Sent(["age", "agee"], "Did you mean 'age'?")],
    ("ask-pairs", "cells"): numbers(Typed("0", "from 1 to"), whole=True, said="from 1 to"),
    ("ask-classifier", "label"): [Sent("", "what to predict"), Sent("cost", "cost"), Sent("agee", "agee")],
    ("ask-classifier", "attributes"): [Sent(["ill"], "Leave it out", {"label": "ill"}), Sent(["agee"], "agee")],
    ("ask-pairs", "label"): [Sent("agee", "agee")],
    ("ask-classifier", "metric"): [Sent("luck", "no metric 'luck'")],
    ("ask-classifier", "cells"): [Typed("few", "auto, a number"), Typed("1", "a number from 2")],
    ("ask-classifier", "method"): [Sent("os.system", "no method 'os.system'")],
    ("ask-given", "given"): [
        Sent("{", "cannot be read"),
        Sent("[" * 5000, "cannot be read"),
        Sent('{"task": {"task": "count"}, "known": "/etc/passwd"}', "not as the name"),
    ],
    # ---- the totals, and who asks
    ("ledger", "total"): numbers(
        Typed("", "finite number"),
        Typed("20", "can only be raised: it is 40 now, given 20. Write a number above 40."),
        Typed("40", "can only be raised"),
        Typed("41", "tick that this is intended", given=False),
        Typed("1e18", "protects nothing", given=False),
        path={"consent": "Ann Lee"},
    ),
    ("ledger", "consent"): [
        Typed("", "Say who consents", {"total": "50", "large": True}),
        Typed("x" * 501, "at most 500 characters, given 501", {"total": "50", "large": True}),
    ],
    ("ledger", "large"): [Sent(None, "tick that this is intended", more={"total": "60", "consent": "Ann"})],
    ("ledger-served", "analyst"): [Sent("nobody", "no analyst of this ledger"), Sent("x" * 300, "no analyst")],
    ("people", "word"): [Sent("x" * 501, "at most 500 characters, given 501", more={"decision": "refuse"})],
    ("people", "sure"): [Sent(None, "Tick this to grant the request", more={"decision": "grant"})],
    ("people", "decision"): [Sent("perhaps", "A decision is to grant or to refuse")],
    ("people", "id"): [
        Sent("0" * 32, "not there any more", more={"decision": "grant", "sure": "yes"}, leads=True),
        Sent("../x", "not there any more", more={"decision": "grant", "sure": "yes"}, leads=True),
    ],
    ("people", "analyst"): [Sent("zoe", "not there any more", more={"decision": "grant", "sure": "yes"}, leads=True)],
    ("people", "digest"): [
        Sent(digest, "another one than the one that you read", more={"decision": "grant", "sure": "yes"}, leads=True)
        for digest in ("0" * 64, "")
    ],
    ("people", "token"): [Sent("0123456789abcdef", "no token of this id"), Sent("", "no token of this id")],
    # ---- results
    ("results", "r"): [Sent(["a", "b", "c"], "3 were ticked", leads=True), Sent(["nothing", "none"], "no request")],
    ("results", "ticked"): [Sent("nonsense", "none was ticked", leads=True)],
    ("counts", "q"): [Sent("nonsense", "More questions, at no cost", leads=True)],
    ("counts", "what"): [Sent("nonsense", "Choose one of: How many there are", more={"q": "count"})],
    ("counts", "a0.from"): numbers(
        Typed("200", "age"), Typed("60", "ends before it begins", {"a0.to": "30"}), positive=False
    ),
    ("counts", "a0.to"): numbers(Typed("-5", "age"), positive=False),
    ("counts", "b0.from"): [Typed("old", "age", COUNT | {"what": "difference"})],
    ("counts", "b0.to"): [Typed("-5", "age", COUNT | {"what": "difference"})],
    ("counts", "a1.list"): [
        Typed("nowhere", "ward", press="Answer"),
        Typed("eye\nnowhere", "ward", press="Answer", given=False),
        Typed(NOT_PRINTED, "ward", press="Answer"),
    ],
    ("counts", "b1.list"): [Typed("nowhere", "ward", COUNT | {"what": "ratio"}, press="Answer")],
    ("counts", "a2"): [Sent("Q", "sex", more={"q": "count"})],
    ("counts", "b2"): [Sent("Q", "sex", more={"q": "count", "what": "share"})],
    ("counts", "k"): numbers(Typed("0", "from 1 to 200"), Typed("201", "from 1 to 200"), whole=True, said="from 1 to"),
    ("counts", "by"): [
        Sent(["agee"], "Did you mean 'age'?", more={"q": "top"}),
        Sent(["agee"], "Did you mean 'age'?", more={"q": "table"}),
        Sent([], "Tick 1 to 3 attributes", more={"q": "table"}),
    ],
    ("counts", "statistic"): [Sent("mode", "Choose one of: Median", more={"q": "figure"})],
    ("counts", "of"): [Sent("agee", "agee", more={"q": "figure"}), Sent("sex", "sex", more={"q": "figure"})],
    ("counts", "part"): [
        Typed("1.5", "less than 1", {"q": "figure", "statistic": "quantile"}),
        Typed("0", "greater than 0", {"q": "figure", "statistic": "quantile"}),
        Typed("0,5", "Write 0.5 with a dot", {"q": "figure", "statistic": "quantile"}),
        Typed("most", "finite number", {"q": "figure", "statistic": "quantile"}),
        Typed("nan", "finite number", {"q": "figure", "statistic": "quantile"}),
    ],
    ("groups", "q"): [Sent("nonsense", "More questions, at no cost", leads=True)],
    ("groups", "what"): [Sent("nonsense", "Choose one of", more={"q": "groups", "one": "0", "other": "1"})],
    ("groups", "statistic"): [Sent("mode", "Choose one of", more={"q": "groups"})],
    ("groups", "one"): [
        Sent("", "Choose a group", more={"q": "groups"}),
        *(Sent(text, "from 0 to 1", more={"q": "groups", "other": "1"}) for text in ("2", "-1", "x")),
    ],
    ("groups", "other"): [
        Sent("", "Choose a group", more={"q": "groups", "one": "0"}),
        *(Sent(text, "from 0 to 1", more={"q": "groups", "one": "0"}) for text in ("2", "0,5")),
    ],
    ("rows", "rows"): numbers(Typed("0", "from 1 to"), Typed("", "given nothing"), whole=True, said="from 1 to"),
    ("rows", "kind"): [Sent("xml", "CSV or Parquet, given 'xml'", more={"q": "rows"})],
    ("rows", "q"): [Sent("nonsense", "", leads=True)],
    ("compare", "a"): [Sent("nothing", "no request of this id"), Sent("../x", "no request of this id")],
    ("compare", "b"): [Sent("nothing", "no request of this id")],
    ("compare", "way"): [Sent("nonsense", "compare them, or combine them")],
    # ---- opening a table
    ("new", "where"): [
        Typed("", "Give the path of a table"),
        Typed("nothing.csv", "There is no file"),
        Typed("/tmp", "is a folder"),
        Typed(NOT_PRINTED, "Give the path of a table"),
        Typed("postgresql://me:secret@host/x", "Give it in the terminal", given=False),
        Typed("x" * 5000, "There is no file", given=False),
        Typed("clinic.toml", "not a kind of file"),
    ],
    ("new", "file"): [
        Sent(text, "There is no table", more={"step": "open"}) for text in ("nothing.csv", "../x.csv", "")
    ],
    ("new", "step"): [Sent("nonsense", "Give the path of a table", more={"where": ""})],
}

SCHEMA = "schema"
WHOLE_NUMBER = "must be a whole number"
TABLE |= {
    (SCHEMA, "c0-kind"): [Sent("nonsense", "Choose what"), Sent("like:nothing", "nothing ready-made")],
    (SCHEMA, "c0-min"): [
        Typed("", "as small as anybody", **OPEN),
        Typed("low", WHOLE_NUMBER, **OPEN),
        Typed("nan", WHOLE_NUMBER, **OPEN),
        Typed("0,5", WHOLE_NUMBER, **OPEN),
        Typed("0.5", "whole number", **OPEN),
        Typed("200", "must not exceed", **OPEN),
        Typed(NOT_PRINTED, WHOLE_NUMBER, **OPEN),
    ],
    (SCHEMA, "c0-max"): [
        Typed("", "as large as anybody", **OPEN),
        Typed("1,000", "Write 1000 without a comma", **OPEN),
        Typed("-1", "must not exceed", **OPEN),
        Typed("1e400", WHOLE_NUMBER, **OPEN),
        Typed("9" * 29, "tighter bound", given=False, **OPEN),
        Typed(LONG, "must be a whole number", given=False, **OPEN),
    ],
    (SCHEMA, "c0-step"): [
        Typed("0", "at least 1", **OPEN),
        Typed("-1", "at least 1", **OPEN),
        Typed("0.5", WHOLE_NUMBER, **OPEN),
        Typed("some", WHOLE_NUMBER, **OPEN),
    ],
    (SCHEMA, "c0-nulls"): [Sent("eat", "must be one of")],
    (SCHEMA, "c0-outside"): [Sent("eat", "must be one of")],
    (SCHEMA, "c0-others"): [Sent("eat", "must be one of", {"c0-kind": "boolean"})],
    (SCHEMA, "c0-missing"): [Sent("a\0b", "missing")],
    (SCHEMA, "c0-name"): [
        Typed("sex", "called 'sex' already", **OPEN),
        Typed(NOT_PRINTED, "control characters", given=False, **OPEN),
        Typed("x" * 1001, "1000 characters", given=False, **OPEN),
    ],
    (SCHEMA, "c1-min"): [Typed("2000", "must be below", **OPEN), Typed("inf", "must be a number", **OPEN)],
    (SCHEMA, "c1-max"): [Typed("-1", "must be below", **OPEN)],
    (SCHEMA, "c1-bins"): [
        Typed("0", "at least 1", **OPEN),
        Typed("many", WHOLE_NUMBER, **OPEN),
        Typed("2.5", WHOLE_NUMBER, **OPEN),
        Typed("1e15", "", given=False, **OPEN),
    ],
    (SCHEMA, "c1-edges"): [
        Typed("0,5", "can be read as one number or as two", **OPEN),
        Typed("0; 0,5; 1", "Write 0.5 with a dot", given=False, **OPEN),
        Typed("1, 2, 2", "increase", given=False, **OPEN),
        Typed("wide", "must be a number", **OPEN),
        Typed("1", "at least two", **OPEN),
    ],
    (SCHEMA, "c2-levels"): [
        Typed("", "all that there can be", **OPEN),
        Typed("F\nF", "given twice", given=False, **OPEN),
        Typed("F M", "is the only level", **OPEN),
        Typed("F, M\nX", "would be one level", given=False, **OPEN),
    ],
    (SCHEMA, "c2-lines"): [Sent("yes", "all that there can be", more={"c2-levels": ""})],
    (SCHEMA, "c2-case"): [Sent("loud", "must be one of")],
    (SCHEMA, "c2-others"): [Sent("clamp", "no order to clamp")],
    (SCHEMA, "c3-first"): [
        Typed("", "Type the first day", **OPEN),
        Typed("yesterday", "must be a date", **OPEN),
        Typed("2024-02-30", "must be a date", **OPEN),
        Typed("2030", "must not exceed", **OPEN),
    ],
    (SCHEMA, "c3-last"): [
        Typed("", "Type the last day", **OPEN),
        Typed("31.12.2024", "is written 2024-12-31", **OPEN),
        Typed("2020", "must not exceed", **OPEN),
    ],
    (SCHEMA, "c3-by"): [Sent("fortnight", "must be one of"), Sent("weekday", "takes no min")],
    (SCHEMA, "c3-format"): [Typed("%Q", "format", **OPEN), Typed("dd.mm", "format", given=False, **OPEN)],
    (SCHEMA, "c4-zone"): [Typed("Nowhere/At all", "time zone", **OPEN)],
    (SCHEMA, "c4-by"): [Sent("century", "must be one of")],
    (SCHEMA, "c4-first"): [Typed("2024-13", "must be a date", **OPEN)],
    (SCHEMA, "c4-last"): [Typed("2024-01-01 25:00", "must be a date", **OPEN)],
    (SCHEMA, "c4-format"): [Typed("%Q", "format", **OPEN)],
    (SCHEMA, "c5-measure"): [Sent("fortnights", "must be one of")],
    (SCHEMA, "c5-min"): [Typed("long", "must be a number", **OPEN)],
    (SCHEMA, "c5-max"): [Typed("40,5", "Write 40.5 with a dot", **OPEN)],
    (SCHEMA, "c5-bins"): [Typed("-3", "at least 1", **OPEN)],
    (SCHEMA, "c5-edges"): [Typed("5; 3", "increase", given=False, **OPEN)],
    (SCHEMA, "whose"): [Sent(None, "how many rows one person can have"), Sent("nobody", "how many rows")],
    (SCHEMA, "unit"): [Sent(text, "Choose the column", {"whose": "column"}) for text in ("", "99", "x")],
    (SCHEMA, "rows_per_unit"): [
        Typed(text, "a whole number of at least 1", {"whose": "several"}, **OPEN)
        for text in ("", "0", "-1", "many", "1.5", "0,5", "1e400", LONG)
    ],
    (SCHEMA, "total"): numbers(
        Typed("", "Say what may be spent", **OPEN),
        Typed("20", "tick that this is intended", given=False, **OPEN),
        path={},
        **OPEN,
    ),
    (SCHEMA, "large"): [Sent(None, "tick that this is intended", more={"total": "20"})],
    (SCHEMA, "ledger"): [
        Typed("../x.ledger", "no folder", **OPEN),
        Typed("notes.txt", "ends with .ledger", **OPEN),
        Typed(NOT_PRINTED, "ends with .ledger", **OPEN),
        Typed("x" * 300 + ".ledger", "ends with .ledger", given=False, **OPEN),
    ],
    (SCHEMA, "header"): [Sent("perhaps", "Nothing was opened", more={"c0-min": ""})],
    (SCHEMA, "names"): [
        Sent("", "Type the names of all columns", {"header": "none"}),
        Sent("a, a", "Two columns are called 'a'", {"header": "none"}),
        Sent("\0", "Write plain Unicode text", {"header": "none"}),
    ],
    (SCHEMA, "delimiter"): [Sent("::", "delimiter")],
    (SCHEMA, "encoding"): [Sent("klingon", "encoding")],
    (SCHEMA, "step"): [Sent("nonsense", "Schema of wrong.csv", leads=True)],
    ("schema-text", "text"): [
        Typed("nonsense", "", press="Open this table", given=False),
        Typed("", "", press="Open this table"),
        Typed("[attributes.age]\ntype = 'integer'\nmin = 9\nmax = 1\n", "min must not exceed max", **OPEN, given=False),
        Typed("[attributes.sise]\ntype = 'boolean'\n", "sise", press="Open this table", given=False),
    ],
    ("wide", "use"): [Sent(["400", "x"], "400 columns", more={"step": "update"}, leads=True)],
}
"""For each page and field, wrong values with what is said."""

EVERYWHERE = {"form_key": [Sent(text, "This form is too old") for text in ("guessed", "", "é" * 99)]}
"""Fields that all forms have: they are tried with every form."""
