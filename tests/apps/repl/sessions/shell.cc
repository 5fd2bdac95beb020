// What is typed at shells' and Python's prompts.
!echo "from the shell; it's here"
!exit 3
!no_such_command_here 2> /dev/null
bool flag = true;
!flag
!flag;
!true
!(1 > 2)
!std::isnan(1.0)
Tensor m = tensor({true, false});
!m
!any(m)
%timeit nothing
int once = 4;
dir()
who
?flag_like
?tanh
tanh?
panto::tanh??
m?
int x = 1
%who
flag ?
  1 : 2
int dir() { return 9; }
dir()
!kill -9 $$
