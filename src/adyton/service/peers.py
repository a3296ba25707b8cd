"""Who is at the other end of a connection, for limits that must hold before anybody has shown a token.

A peer is an address; of IPv6 its first 64 bits, for who has one of those addresses has all of them; or the user of a
process that is connected through a Unix socket. Behind a proxy that the configuration names, the peer is the address
that the proxy passes on in ``X-Forwarded-For``; from anybody else that header says nothing.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

_USER = "uid:"
_PREFIX = 64
_MOST_PASSED_ON = 32
"""How many addresses of ``X-Forwarded-For`` are looked at, from its end."""


def user_name(number: int) -> str:
    """How a user of this machine is named as a peer."""
    return f"{_USER}{number}"


def peer_of(connection: Any) -> str | None:
    """Who is connected: an address, ``uid:NUMBER``, or None where the system does not say."""
    if connection is None:
        return None
    if connection.family == socket.AF_UNIX:
        try:
            found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        except (AttributeError, OSError):  # not Linux
            return None
        return user_name(struct.unpack("3i", found)[1])
    try:
        return str(connection.getpeername()[0]).partition("%")[0]
    except OSError:  # it is gone
        return None


def place_of(peer: str | None) -> str:
    """Under which name a peer is counted.

    >>> place_of("192.0.2.1"), place_of("2001:db8::1"), place_of("::ffff:192.0.2.1"), place_of("uid:1000")
    ('192.0.2.1', '2001:db8::/64', '192.0.2.1', 'uid:1000')
    """
    if peer is None or peer.startswith(_USER):
        return peer or ""
    address = ip_address(peer)
    if address.version == 4:
        return peer
    return str(address.ipv4_mapped or ip_network((address, _PREFIX), strict=False))


def is_loopback(peer: str | None) -> bool:
    """Whether a peer is connected by loopback."""
    return peer is not None and not peer.startswith(_USER) and ip_address(peer).is_loopback


def is_peer(name: str) -> bool:
    """Whether this is the name of a peer: an address, a network, or ``uid:NUMBER``."""
    try:
        ip_network(name, strict=False)
    except ValueError:
        return name.startswith(_USER) and name.removeprefix(_USER).isdecimal()
    return True


@dataclass(frozen=True)
class Peers:
    """Some peers by their names: addresses, networks such as ``10.0.0.0/8``, and users as ``uid:NUMBER``."""

    users: frozenset[str] = frozenset()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    @classmethod
    def of(cls, names: Sequence[str]) -> Peers:
        """From their names, which are checked already."""
        networks = tuple(ip_network(name, strict=False) for name in names if not name.startswith(_USER))
        return cls(frozenset(name for name in names if name.startswith(_USER)), networks)

    def has(self, peer: str | None) -> bool:
        """Whether a peer is one of them."""
        if peer is None or peer.startswith(_USER):
            return peer in self.users
        address = ip_address(peer)
        mapped = getattr(address, "ipv4_mapped", None) or address
        return any(mapped in network for network in self.networks)

    def behind(self, peer: str | None, headers: Sequence[tuple[bytes, bytes]]) -> str | None:
        """Who is behind a peer: for one of these proxies the last address in ``X-Forwarded-For`` that is not one of
        them, too; else the peer.

        >>> proxies = Peers.of(["10.0.0.0/8"])
        >>> proxies.behind("10.1.1.1", [(b"x-forwarded-for", b"198.51.100.7, 192.0.2.1, 10.0.0.2")])
        '192.0.2.1'
        >>> proxies.behind("192.0.2.9", [(b"x-forwarded-for", b"198.51.100.7")])
        '192.0.2.9'
        """
        if not self.has(peer):
            return peer
        lines = [value for name, value in headers if name == b"x-forwarded-for"]
        for text in reversed(b",".join(lines).decode("latin-1").split(",")[-_MOST_PASSED_ON:]):
            try:
                passed_on = str(ip_address(text.strip()))
            except ValueError:  # what a proxy does not write is somebody else's word
                return peer
            if not self.has(passed_on):
                return passed_on
        return peer
