// What Python's and shells' people type.
help(tanh)
help(panto::tanh);
help(1 + 1)
int help = 3;
help
int quit(int n) { return n + 1; }
quit(1)
exit()
never reached
