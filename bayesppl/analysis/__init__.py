"""Questions about a fitted model: functions of it."""
