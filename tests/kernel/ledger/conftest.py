"""Where a ledger can be kept: a file, and a PostgreSQL server that starts when a test first asks for it."""

import secrets

import pytest

from kernel.engines.servers import running_postgres, skip


@pytest.fixture(scope="session")
def ledger_server():
    """The folder of a server's socket, and its port."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        skip("psycopg", "pip install 'adyton[postgres]'")
    with running_postgres() as place:
        yield place


@pytest.fixture
def address(ledger_server):
    """The address of a ledger that does not exist yet."""
    folder, port = ledger_server
    return f"postgresql://adyton@/postgres?host={folder}&port={port}&schema=t{secrets.token_hex(8)}"


@pytest.fixture(params=["file", "server"])
def place(request):
    """The path or address of a ledger that does not exist yet."""
    return str(request.getfixturevalue("path" if request.param == "file" else "address"))
