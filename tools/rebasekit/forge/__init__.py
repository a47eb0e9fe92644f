"""The pull-request API: calls that wait and never double, and the marks that say whose an entry is."""
