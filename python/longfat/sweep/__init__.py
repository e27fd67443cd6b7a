"""A sweep: the runs it has (`plan`), which of them are wanted (`adaptive`), and their execution (`work`)."""
