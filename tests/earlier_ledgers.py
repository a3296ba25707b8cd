"""How a ledger of the current format becomes one as earlier formats were."""

AS_FOURTH = ("DROP TABLE changes", "DROP INDEX decisions", "DROP INDEX requests_begun")
FOURTH = (*AS_FOURTH, "PRAGMA user_version = 4")
THIRD = (
    *FOURTH,
    "ALTER TABLE ledger ADD COLUMN dataset TEXT",
    "UPDATE ledger SET dataset = (SELECT name FROM datasets)",
    "DROP INDEX entries_of_requests",
    *(f"DROP TABLE {table}" for table in ("datasets", "analysts", "requests", "answers")),
    "PRAGMA user_version = 3",
)
FIRST = (
    *THIRD,
    "DROP TABLE terms",
    "ALTER TABLE entries DROP COLUMN terms",
    "ALTER TABLE events DROP COLUMN consent",
    "PRAGMA user_version = 1",
)
"""The same for the first format."""
