"""The adyton: the room that opens private tables, and the only way from them to an answer."""
