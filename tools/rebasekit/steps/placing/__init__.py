"""Placing one hunk on pristine text: find its scope, match its anchor, ask a merge for a second opinion."""
