"""Reading and changing Python text by structure, without changing one byte that is not ours.

Positions come from Python's own `ast`: on this upstream it is ten times faster than a lossless tree, and because
every edit is a splice of text at a known offset, everything else stays as it was, byte for byte.
"""
