"""How a ledger of the current format becomes one as the third format was."""

THIRD = (
    "ALTER TABLE ledger ADD COLUMN dataset TEXT",
    "UPDATE ledger SET dataset = (SELECT name FROM datasets)",
    "DROP INDEX entries_of_requests",
    *(f"DROP TABLE {table}" for table in ("datasets", "analysts", "requests", "answers")),
    "PRAGMA user_version = 3",
)
