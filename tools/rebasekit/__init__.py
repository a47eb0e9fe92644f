"""rebasekit keeps a downstream patch series alive on an upstream that moves every week."""

__version__ = "0.1.0"
