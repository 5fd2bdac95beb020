:help undo
:help Tanh
:doc tanh
:help nothing_like_it
:nothing
:vars
int x = 4;
Tensor t = tensor({{1.f, 2.f}, {3.f, 4.f}});
:vars
:type t
:type x + 0.5
:undo two
x = 5;
x = 6;
:undo 2
x
:save saved.cc
:reset
x
:load saved.cc
x
:load none.cc
int* p = nullptr;
*p = 1;
x
:quit
never reached
