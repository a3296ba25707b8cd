"""The language of ``where``: what it understands, what it refuses, and that nothing else happens."""

from __future__ import annotations

import operator
import time

import pyarrow
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adyton.errors import PredicateError
from adyton.kernel.counting import open_table
from adyton.schema import Boolean, Categorical, Identifier, Integer, Numeric, Schema
from adyton.schema.predicates import And, Between, Compare, In, IsNull, Not, Or, check_predicate, parse_predicate

SCHEMA = Schema(
    {
        "age": Integer(0, 119),
        "pay": Numeric(0, 10, bins=5),
        "sex": Categorical(["F", "M", "it's"]),
        "code": Categorical([1, 2, -3]),
        "smoker": Boolean(),
        'odd "name"': Integer(0, 1),
        "select": Integer(0, 1),
        "person": Identifier(),
    }
)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("age = 3", Compare("age", "=", 3)),
        ("age == 3", Compare("age", "=", 3)),
        ("3 < age", Compare("age", ">", 3)),
        ("2.5 >= (age)", Compare("age", "<=", 2.5)),
        ("age <> -3", Compare("age", "!=", -3)),
        ("age != 1e2", Compare("age", "!=", 100.0)),
        ('"age" > .5', Compare("age", ">", 0.5)),
        ('"odd ""name""" = 1', Compare('odd "name"', "=", 1)),
        ('"select" = 1', Compare("select", "=", 1)),
        ("sex = 'it''s'", Compare("sex", "=", "it's")),
        ("smoker = TRUE", Compare("smoker", "=", True)),
        ("code in (1, -3)", In("code", (1, -3))),
        ("code not in (2)", Not(In("code", (2,)))),
        ("pay between 1 and 2.5", Between("pay", 1, 2.5)),
        ("pay NOT BETWEEN 1 and 2", Not(Between("pay", 1, 2))),
        ("person is null", IsNull("person")),
        ("person is not null", Not(IsNull("person"))),
        ("age=1 and age=2 and age=3", And((Compare("age", "=", 1), Compare("age", "=", 2), Compare("age", "=", 3)))),
        (
            "age=1 or age=2 and not (age=3 or age=4)",
            Or(
                (
                    Compare("age", "=", 1),
                    And((Compare("age", "=", 2), Not(Or((Compare("age", "=", 3), Compare("age", "=", 4)))))),
                )
            ),
        ),
    ],
)
def test_what_is_understood(text, tree):
    assert parse_predicate(text, SCHEMA) == tree
    assert parse_predicate(str(tree), SCHEMA) == tree


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "a filter is a text"),
        ("", "empty"),
        (" \n", "empty"),
        (";", "the filter"),
        ("age = 1; age = 2", "semicolon"),
        ("age = 1 -- note", "comment"),
        ("age = 1 /* note */", "comment"),
        ("agee = 1", "There are 'age', 'pay', 'sex', 'code', 'smoker'"),
        ("agee = 1", "Did you mean 'age'?"),
        ("abs(age) = 1", "a function call"),
        ("getenv('HOME') = 'x'", "a function call"),
        ("age + 1 = 2", "arithmetic"),
        ("age = 1 / 0", "arithmetic"),
        ("cast(age as int) = 1", "a cast"),
        ("age::int = 1", "a cast"),
        ("age = (select 1)", "a subquery"),
        ("exists (select 1)", "a subquery"),
        ("age in (select 1)", "without a list"),
        ("age in ()", "without a list"),
        ("sex like 'F%'", "like"),
        ("age = pay", "two attributes"),
        ("age", "on its own"),
        ("not smoker", "on its own"),
        ("true", "on its own"),
        ("1 = 1", "a number or a text on its own"),
        ("t.age = 1", "a name with a dot"),
        ("age is true", "only null"),
        ("age = null", "is null"),
        ("age in (1, null)", "is null"),
        ("age between 59 and 30", "ends before it begins"),
        ("not age between 59 and 30", "ends before it begins"),
        ("sex = 'F' and age >= 60 and age < 30", "so no row can be in it. Write 30 first, then 60"),
        ("not (age >= 60 and age <= 30)", "so every row with a value of age is outside it. Write 30 first, then 60"),
        ("not not age between 59 and 30", "no row can be in it"),
        ("age between symmetric 2 and 1", "between"),
        ("age = 1 x", "the filter"),
        ("age = ", "cannot be read"),
        ("age = 1 and", "cannot be read"),
        ("age = 'x'", "cannot be compared with 'x'. Compare it with a number"),
        ("age = '0,5'", "Write 0.5 with a dot"),
        ("age = true", "cannot be compared with True. Compare it with a number"),
        ("age = 1e400", "finite"),
        ("age = 1e300", "at most 18 digits"),
        ("sex = 'Q'", "Its levels are 'F', 'M', \"it's\""),
        ("sex = F", "single quotes"),
        ("sex < 'M'", "'sex' is a list of named values: it can be compared with = or !=, or with in, not with <"),
        ("sex between 'F' and 'M'", "not with between"),
        ("code = true", "no level True"),
        ("smoker = 1", "'smoker' is true or false: compare it with = true or = false, given 1"),
        ("person = 3", "is null or is not null"),
        ("age = - - 1", "arithmetic"),
        ("age = ?", "not allowed"),
        ("case when age = 1 then true end", "case"),
        ("age = 1\0", "NUL"),
        ("age = '\ud800'", "surrogate"),
        ("(" * 21 + "age = 1" + ")" * 21, "more than 20 levels deep"),
        ("not " * 30 + "age = 1", "more than 20 levels deep"),
        ("(" * 5000, "more than 20 levels deep"),
        ("a" * 10_001, "10,001 characters; the limit is 10,000"),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(PredicateError) as caught:
        parse_predicate(text, SCHEMA)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 400
    assert caught.value.__context__ is None


def test_long_chains_and_the_deepest_nesting_are_fast():
    start = time.process_time()
    table = open_table(pyarrow.table({"age": [1, 2]}), SCHEMA.select("age"))
    for text in (
        " or ".join(["age=1"] * 700),
        "(" * 20 + "age=1" + ")" * 20,
        "not (age=1 or " * 9 + "age=2" + ")" * 9,
    ):
        tree = parse_predicate(text, SCHEMA.select("age"))
        assert parse_predicate(str(tree), SCHEMA.select("age")) == tree
        assert 0 <= table.where(tree).count() <= 2
    assert time.process_time() - start < 20


@pytest.mark.parametrize(
    "tree",
    [
        Compare("age", "like", 1),
        Compare("age", "=", float("nan")),
        Compare("age", "=", 2**63),
        Compare("nope", "=", 1),
        In("age", ()),
        And(()),
        "age = 1",
        Not("age = 1"),
    ],
)
def test_a_tree_made_by_hand_is_checked_too(tree):
    with pytest.raises(PredicateError):
        check_predicate(tree, SCHEMA)


VOCABULARY = """
age pay sex code smoker person select from where and or not in is null true false between like ( ) , ; . : :: + - * /
= == != <> < <= > >= 1 2.5 1e9 'F' 'M' '' " ' ` -- /* */ [ ] { } $1 ? @ # % ^ & | ~ ! \\ cast case when then end
interval date exists any all union distinct as over lambda x'00' e'x' 0x1f $$ é \u202e
"""
WORDS = st.sampled_from([*VOCABULARY.split(), "\n", "\t"])


@settings(max_examples=80, deadline=None)
@given(
    st.one_of(
        st.text(max_size=60), st.lists(WORDS, max_size=25).map(" ".join), st.lists(WORDS, max_size=12).map("".join)
    )
)
@example("a" * 5000)
@example("'" * 4999)
@example("((((" + "[" * 4000)
@example("- " * 4000 + "1")
@example("case " * 1500)
@example("age = 1 " + "and not age = 1 " * 600)
def test_no_text_raises_anything_else(text):
    try:
        tree = parse_predicate(text, SCHEMA)
    except PredicateError:
        return
    assert parse_predicate(str(tree), SCHEMA) == tree


NUMBERS = st.one_of(st.integers(-5, 125), st.sampled_from([0.5, -0.0, 2.5, 1e17, 2**53 + 1, -(2**62)]))
LEAVES = st.one_of(
    st.builds(Compare, st.sampled_from(["age", "pay"]), st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), NUMBERS),
    st.builds(Compare, st.just("sex"), st.sampled_from(["=", "!="]), st.sampled_from(["F", "M", "it's"])),
    st.builds(Compare, st.just("smoker"), st.sampled_from(["=", "!="]), st.booleans()),
    st.builds(
        lambda name, ends: Between(name, *sorted(ends)), st.sampled_from(["age", "pay"]), st.tuples(NUMBERS, NUMBERS)
    ),
    st.builds(In, st.sampled_from(["age", "pay"]), st.lists(NUMBERS, min_size=1, max_size=3).map(tuple)),
    st.builds(In, st.just("code"), st.lists(st.sampled_from([1, 2, -3]), min_size=1, max_size=3).map(tuple)),
    st.builds(IsNull, st.sampled_from(["age", "pay", "sex", "code", "smoker", "person"])),
)
PARTS = {"min_size": 2, "max_size": 3}


def in_order(tree):
    """Whether no range in it ends before it begins: such a one is refused."""
    try:
        check_predicate(tree, SCHEMA)
    except PredicateError as problem:
        return "ends before it begins" not in str(problem)
    return True


TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, **PARTS).map(tuple).map(And), st.lists(inner, **PARTS).map(tuple).map(Or), inner.map(Not)
    ),
    max_leaves=6,
).filter(in_order)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "age": st.one_of(st.none(), st.integers(-5, 125), st.sampled_from([2**63 - 1, -(2**63)])),
            "pay": st.one_of(
                st.none(), st.sampled_from([0.5, 1.0, 2.5, float("nan"), float("inf"), -float("inf"), 1e308])
            ),
            "sex": st.sampled_from([None, "F", "M", "it's", "other"]),
            "code": st.sampled_from([None, 1, 2, -3, 7]),
            "smoker": st.sampled_from([None, True, False]),
            "person": st.sampled_from([None, "p"]),
        }
    ),
    min_size=1,
    max_size=6,
)
TYPES = pyarrow.schema(
    [
        ("age", pyarrow.int64()),
        ("pay", pyarrow.float64()),
        ("sex", pyarrow.string()),
        ("code", pyarrow.int32()),
        ("smoker", pyarrow.bool_()),
        ("person", pyarrow.string()),
    ]
)
COMPARISONS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def truth(tree, row):  # noqa: PLR0911
    """Three-valued logic in plain Python: True, False or None."""
    match tree:
        case Compare(column, sign, value):
            return None if row[column] is None else COMPARISONS[sign](row[column], value)
        case Between(column, low, high):
            return truth(And((Compare(column, ">=", low), Compare(column, "<=", high))), row)
        case In(column, values):
            return None if row[column] is None else row[column] in values
        case IsNull(column):
            return row[column] is None
        case Not(part):
            inner = truth(part, row)
            return None if inner is None else not inner
        case And(parts):
            found = [truth(part, row) for part in parts]
            return False if False in found else None if None in found else True
        case Or(parts):
            found = [truth(part, row) for part in parts]
            return True if True in found else None if None in found else False


@settings(max_examples=25, deadline=None)
@given(TREES, ROWS)
def test_truth_on_rows(tree, rows):
    check_truth(tree, rows)


@pytest.mark.full
@settings(max_examples=300, deadline=None)
@given(TREES, ROWS)
def test_truth_on_rows_many_times(tree, rows):
    check_truth(tree, rows)


def check_truth(tree, rows):
    schema = SCHEMA.select(TYPES.names)
    table = open_table(pyarrow.Table.from_pylist(rows, TYPES), schema)
    seen = [{key: None if value != value else value for key, value in row.items()} for row in rows]  # noqa: PLR0124
    kept = sum(truth(tree, row) is True for row in seen)
    assert table.where(tree).count() == kept
    again = parse_predicate(str(tree), schema)
    assert again == tree
    assert table.where(Not(Not(again))).count() == kept
