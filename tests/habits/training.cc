// Training: optimizers, their rates, clipping, losses and layers, as Keras and PyTorch call them.
Variable v(tensor({1.f, 2.f}), "v");
Sgd sgd({v}, {.learning_rate = 0.5});
sgd.apply(std::vector<Tensor>{tensor({1.f, 1.f})});
v.value()
// [0.5 1.5]  float32[2], CPU:0
sgd.learning_rate()
// 0.5
sgd.set_learning_rate(0.25);
sgd.learning_rate()
// 0.25
Sgd momentum({v}, {.learning_rate = 1e-2, .momentum = 0.9, .nesterov = true, .weight_decay = 1e-4});
Adam adam({v}, {.learning_rate = 1e-3});
AdamW adamw({v}, {.learning_rate = 1e-3, .weight_decay = 0.01});
adamw.exclude_from_weight_decay({v});
RMSprop rms({v}, {.learning_rate = 1e-3, .momentum = 0.9, .centered = true});
Adagrad adagrad({v}, {.learning_rate = 0.1});
Adam amsgrad({v}, {.learning_rate = 1e-3, .amsgrad = true});
amsgrad.slot_names()
// ["m", "v", "vhat"]
Adamax adamax({v}, {.learning_rate = 1e-3});
ScheduleFreeAdamW schedule_free({v}, {.learning_rate = 0.0025});
Nadam nadam({v}, {.learning_rate = 1e-3});
Adadelta adadelta({v}, {.learning_rate = 1e-3, .rho = 0.95});
Ftrl ftrl({v}, {.learning_rate = 0.1});
Lion lion({v}, {.learning_rate = 1e-4});
Lamb lamb({v}, {.learning_rate = 1e-3});
Adafactor adafactor({v}, {.learning_rate = 1e-3});
Muon muon({v}, {.learning_rate = 0.02});
Momentum heavy({v}, {.learning_rate = 0.01, .momentum = 0.9});
AdagradDA dual({v}, {.learning_rate = 0.1});
ProximalGradientDescent proximal({v}, {.learning_rate = 0.1});
ProximalAdagrad proximal_adagrad({v}, {.learning_rate = 0.1});
AddSign add_sign({v}, {.learning_rate = 0.1});
PowerSign power_sign({v}, {.learning_rate = 0.1});
adam.get_slot(v, "m").value()
// [0. 0.]  float32[2], CPU:0
adam.slots().size()
// 5
adam.slots().back().value()
// 0.001  float32[], CPU:0
Sgd ascent({v}, {.learning_rate = -1});
// InvalidArgument: learning rate: expected a finite number of at least 0, got -1
Schedule steps = piecewise_constant({1000, 2000}, {0.1, 0.01, 0.001});
Schedule decay = exponential_decay(0.1, 1000, 0.5, {.staircase = true});
Schedule cosine = cosine_decay(1e-3, 10000, {.warmup_steps = 500});
polynomial_decay(0.1, 1000, {.end = 0})(tensor(int64_t{500}))
// 0.05  float64[], CPU:0
inverse_time_decay(0.1, 1000, 1)(tensor(int64_t{1000}))
// 0.05  float64[], CPU:0
natural_exp_decay(0.1, 1000, 0.5)(tensor(int64_t{0}))
// 0.1  float64[], CPU:0
linear_cosine_decay(0.1, 1000, {.beta = 0})(tensor(int64_t{1000}))
// 0.0  float64[], CPU:0
cosine_decay_restarts(0.1, 1000)(tensor(int64_t{1000}))
// 0.1  float64[], CPU:0
Variable trained(tensor({3.f, 5.f}), "trained");
Sgd descent({trained}, {.learning_rate = 0.5});
descent.minimize([&] { return sum(square(trained)); }, {.var_list = {trained}}).defined()
// false
trained.value()
// [0. 0.]  float32[2], CPU:0
ExponentialMovingAverage average({v}, {.decay = 0.999});
average.apply().defined()
// false
GradientAccumulator accumulator(descent, {.steps = 4});
accumulator.apply(std::vector<Tensor>{tensor({1.f, 1.f})}).defined()
// false
LossScale scaler;
scaler.scale_loss(tensor(2.f))
// 65536.0  float32[], CPU:0
cosine(tensor(int64_t{250}))
// 0.0005  float64[], CPU:0
Adam scheduled({v}, {.learning_rate = cosine});
scheduled.learning_rate()
// 0.0
Sgd own({v}, {.learning_rate = [](const Tensor& step) { return 1.0 / cast(step + 1, kFloat64); }});
own.learning_rate()
// 1.0
std::vector<Tensor> gradients = {tensor({3.f, 4.f})};
clip_by_global_norm(gradients, 1)[0]
// [0.6 0.8]  float32[2], CPU:0
clip_by_norm(gradients, 10)[0]
// [3. 4.]  float32[2], CPU:0
clip_by_value(gradients, 0, 3.5)[0]
// [3.  3.5]  float32[2], CPU:0
global_norm(gradients)
// 5.0  float64[], CPU:0
Tensor y = tensor({{0.5f}, {0.f}});
Tensor target = tensor({{1.f}, {0.f}});
mean_squared_error(y, target)
// 0.125  float32[], CPU:0
mean_absolute_error(y, target, {.reduction = LossReduction::kNone})
// [0.5 0. ]  float32[2], CPU:0
huber(y, target, {.delta = 0.25})
// 0.046875  float32[], CPU:0
mean_squared_error(y, target, {.weights = tensor({2.f, 1.f}), .reduction = LossReduction::kSum})
// 0.5  float32[], CPU:0
mean_squared_error(y, tensor({1.f, 0.f}))
// InvalidArgument: target: expected the prediction's shape [2,1], got [2]
Tensor logits = zeros({2, 2});
binary_cross_entropy(logits, one_hot(tensor({0, 1}), 2), {.from_logits = true})
// 0.6931472  float32[], CPU:0
categorical_cross_entropy(logits, one_hot(tensor({0, 1}), 2), {.from_logits = true, .label_smoothing = 0.1})
// 0.6931472  float32[], CPU:0
sparse_categorical_cross_entropy(logits, tensor({0, 1}), {.from_logits = true})
// 0.6931472  float32[], CPU:0
mean(sparse_softmax_cross_entropy_with_logits(logits, tensor({0, 1})))
// 0.6931472  float32[], CPU:0
sparse_softmax_cross_entropy_with_logits(zeros({2, 3, 2}), tensor({{0, 1, 0}, {1, 1, 0}})).shape()
// [2,3]
sparse_softmax_cross_entropy_with_logits(tensor({0, 1}), logits)
// InvalidArgument: prediction: expected a floating tensor, got int32[2]
reduce_mean(softmax_cross_entropy_with_logits(logits, one_hot(tensor({0, 1}), 2)))
// 0.6931472  float32[], CPU:0
softmax_cross_entropy_with_logits(zeros({2, 3, 4}), one_hot(zeros({2, 3}).cast(kInt32), 4)).shape()
// [2,3]
softmax_cross_entropy_with_logits(zeros({1, 2}), tensor({{0, 1}}))
// [0.6931472]  float32[1], CPU:0
sigmoid_cross_entropy_with_logits(tensor({0.f, 1000.f, -1000.f}), tensor({1.f, 1.f, 1.f}))
// [6.931472e-01 0.000000e+00 1.000000e+03]  float32[3], CPU:0
log_cosh(y, target)
// 0.06005726  float32[], CPU:0
cosine_similarity(tensor({{3.f, 4.f}}), tensor({{4.f, 3.f}}))
// -0.96000004  float32[], CPU:0
binary_focal_cross_entropy(y, target, {.gamma = 3})
// 0.0433217  float32[], CPU:0
dice(y, target)
// 0.33333337  float32[], CPU:0
metrics::Mean mean_loss;
mean_loss.update_state(tensor({1.f, 2.f}));
mean_loss.update_state(tensor({6.f}));
mean_loss.result()
// 3.0  float32[], CPU:0
mean_loss.reset_state();
mean_loss(5.0)
// 5.0  float32[], CPU:0
metrics::SparseCategoricalAccuracy right;
right(tensor({{0.f, 1.f}, {1.f, 0.f}, {0.f, 3.f}, {2.f, 1.f}}), tensor({1, 0, 0, 0}))
// 0.75  float32[], CPU:0
metrics::Recall({.thresholds = {0.25, 0.75}})(tensor({0.5f, 0.9f}), tensor({1, 1}))
// [1.  0.5]  float32[2], CPU:0
metrics::AUC()(tensor({0.f, 0.5f, 0.3f, 0.9f}), tensor({0, 0, 1, 1}))
// 0.75  float32[], CPU:0
metrics::MeanMetricWrapper(huber, {.delta = 0.25})(y, target)
// 0.046875  float32[], CPU:0
metrics::confusion_matrix(tensor({0, 1, 1}), tensor({0, 1, 0}), 2)
// [[1 1]
//  [0 1]]
// int32[2,2], CPU:0
metrics::Precision()(tensor({1, 0}), tensor({1, 0}))
// InvalidArgument: prediction: expected a floating tensor, got int32[2]
Dense(2, 3, {.kernel_initializer = "orthogonal"}).kernel().shape()
// [2,3]
Dense(2, 3, {.kernel_initializer = "hee"})
// InvalidArgument: initializer: expected "glorot_uniform"
variance_scaling({.scale = 2, .mode = "fan_out", .seed = 1})({2, 3}, kFloat32).shape()
// [2,3]
regularizers::l2(0.5)(tensor({1.f, 2.f}))
// 2.5  float32[], CPU:0
constraints::max_norm(1)(tensor({{3.f}, {4.f}}))
// [[0.6]
//  [0.8]]
// float32[2,1], CPU:0
struct Net : Layer {
  Dense a{784, 128, {.activation = relu}}, b{128, 10};
  Variable scale{ones({10}), "scale"};
  Parts parts() const override { return {a, b, scale}; }
  Tensor forward(const Tensor& x) const override { return b(a(x)) * scale; }
};
Net net;
net(ones({2, 784})).shape()
// [2,10]
net.variables().size()
// 5
net.state().size()
// 0
net.named_variables()[2].first
// "dense_1/kernel"
Adam of_net(net.variables(), {.learning_rate = 1e-3});
struct Forgot : Layer {
  Dense a{2, 2};
  Tensor forward(const Tensor& x) const override { return a(x); }
};
Forgot forgot;
Adam none(forgot.variables());
// InvalidArgument: variables: expected at least one to train, got none
forgot(ones({1, 2}))
// FailedPrecondition: parts: expected all variables that the layer uses, got none of
MultiHeadAttention attend(8, {.heads = 2, .causal = true});
attend(ones({2, 3, 8})).shape()
// [2,3,8]
attend(ones({2, 3, 8}), ones({2, 5, 8})).shape()
// [2,3,8]
GlobalAveragePool2D()(ones({2, 4, 4, 3})).shape()
// [2,3]
GlobalMaxPool2D()(ones({2, 4, 4, 3})).shape()
// [2,3]
Variable counter(tensor(0), "counter");
counter.assign_add(1);
counter.assign_sub(3);
counter.value()
// -2  int32[], CPU:0
counter.assign_add(0.5);
// InvalidArgument: value: expected a value of type int32, got the number 0.5
Variable rate(tensor(0.5), "rate");
rate.assign_add(1.f);
rate.value()
// 1.5  float64[], CPU:0
rate.assign(counter);
// InvalidArgument: dtype: expected the variable's float64, got int32
Variable pair_of(tensor({0.f, 0.f}), "pair_of");
pair_of.assign({3, 4});
pair_of.value()
// [3. 4.]  float32[2], CPU:0
Variable w(tensor({1.f, 2.f}), "w");
w += 1.f;
w *= tensor({2.f, 3.f});
w -= w;
w /= 2.f;
w.value()
// [0. 0.]  float32[2], CPU:0
w += tensor({{1.f, 2.f}, {3.f, 4.f}});
// InvalidArgument: value: expected the variable's shape [2], got [2,2]
Dense(2, 3, {.activation = "elu"})(ones({1, 2})).shape()
// [1,3]
