// Graphs and sessions as in TensorFlow 1, and traced functions.
Graph g;
auto scope = std::make_unique<GraphScope>(g);
Tensor in = placeholder(kFloat32, {-1, 2}, "in");
Tensor target = placeholder(kFloat32, {-1, 1}, "target");
Tensor rate = placeholder(kFloat32, {}, "rate");
Variable w(panto::zeros({2, 1}), "w");
Variable twice(w.initialized_value() + 1.f, "twice");
Tensor loss = mean_squared_error(matmul(in, w), target);
Sgd sgd({w}, {.learning_rate = 0.5});
Operation train = sgd.minimize(loss);
Operation count = twice.assign_add(panto::ones({2, 1}));
Operation both = group({train, count});
Operation init = global_variables_initializer();
scope.reset();
Session sess(g);
sess.run(init).defined()
// false
sess.run(w).shape()
// [2,1]
sess.run(loss, {{in, tensor({{1.f, 0.f}})}, {target, tensor({{2.f}})}})
// 4.0  float32[], CPU:0
sess.run(both, {{in, tensor({{1.f, 0.f}})}, {target, tensor({{2.f}})}}).defined()
// false
sess.run({loss, w, "twice/Read", train}, {{"in", tensor({{1.f, 0.f}})}, {"target:0", tensor({{2.f}})}}).size()
// NotFound: node: expected a name of the graph, got 'twice/Read'
sess.run(w)
// [[2.]
//  [0.]]
// float32[2,1], CPU:0
sess.run(twice)
// [[2.]
//  [2.]]
// float32[2,1], CPU:0
sess.run("rate", {{"rate", 0.5}})
// 0.5  float32[], CPU:0
w.assign(panto::zeros({2, 1}))
// FailedPrecondition: symbolic tensor: expected the GraphScope or trace that it is of to be open
Graph told_nothing;
auto scope_1 = std::make_unique<GraphScope>(told_nothing);
Variable slope(tensor(3.f), "slope");
Operation start = global_variables_initializer();
Tensor error = square(slope);
Operation descend = Sgd({.learning_rate = 0.5}).minimize(error * 0.5f);
Tensor lr = placeholder(kFloat32, {}, "lr");
Operation descend_by = Sgd({.learning_rate = lr}).minimize(error);
Operation descend_adam = Adam({.learning_rate = 1e-3}).minimize(error);
Variable global_step(tensor(int64_t{0}), "global_step");
Sgd halves({.learning_rate = 0.5});
auto gv = halves.compute_gradients(error, {.var_list = {slope}});
for (auto& [gradient, variable] : gv) gradient = clip_by_norm(gradient, 0.5);
Operation clipped = halves.apply_gradients(gv, {.global_step = global_step});
Operation counted = halves.minimize(error * 0.f, {.global_step = global_step});
trainable_variables().size()
// 1
Operation start_all = global_variables_initializer();
scope_1.reset();
Session sess_1(told_nothing);
sess_1.run(start).defined()
// false
sess_1.run(descend).defined()
// false
sess_1.run(slope)
// 1.5  float32[], CPU:0
sess_1.run(start_all).defined()
// false
sess_1.run(clipped).defined()
// false
sess_1.run(counted).defined()
// false
sess_1.run(global_step)
// 2  int64[], CPU:0
sess_1.run(slope)
// 2.75  float32[], CPU:0
sess_1.run(start).defined()
// false
sess_1.run(descend).defined()
// false
sess_1.run(descend_by, {{lr, 0.25f}}).defined()
// false
sess_1.run(slope)
// 0.75  float32[], CPU:0
sess_1.run(start_all).defined()
// false
sess_1.run(descend_adam).defined()
// false
auto f = trace([](const Tensor& x) { return std::pair(sum(x), max(x)); });
auto [total, largest] = f(tensor({1.f, 5.f}));
total + largest
// 11.0  float32[], CPU:0
auto named_sums = trace([](const Tensor& x) { return std::map<std::string, Tensor>{{"sum", sum(x)}}; });
named_sums(tensor({1.f, 5.f})).at("sum")
// 6.0  float32[], CPU:0
auto scaled_by = trace([](const std::pair<Tensor, Tensor>& p) { return p.first * p.second; });
scaled_by({tensor(2.f), tensor(4.f)})
// 8.0  float32[], CPU:0
