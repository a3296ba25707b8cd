"""The adyton: the room that opens private tables, and the only way from them to an answer.

Start with ``kernel``, the door, then ``operators``, which it accepts, and ``budget``, which charges for them.
"""
