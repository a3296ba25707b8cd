"""Engines outside of this process: rows stay there, and are grouped by what is asked of them. One file each."""
