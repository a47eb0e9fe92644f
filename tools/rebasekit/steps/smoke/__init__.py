"""The smoke: start the patched release as a server, ask it what has a known answer, and see which of our lines ran."""
