"""The bot: new releases found, carried, tried, and shown as pull requests."""
