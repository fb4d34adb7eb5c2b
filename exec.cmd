@rem The shell of npm on Windows has no "exec", which scripts use so that a signal sent to npm reaches node itself.
@%*
