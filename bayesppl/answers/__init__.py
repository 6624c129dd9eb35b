"""What a fitted model can be asked: functions of it."""
