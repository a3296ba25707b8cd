"""The adyton: the room that opens private tables, and the only way from them to an answer.

Start with ``kernel``, the door, then ``operators``, what it accepts, and ``budget``, what that costs.
"""
