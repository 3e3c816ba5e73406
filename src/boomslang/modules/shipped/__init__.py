"""The modules that come with Boomslang, one file each."""
