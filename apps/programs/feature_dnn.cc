// Who survived the Titanic: a deep network on feature columns of every kind, numbers, buckets, bags of words and
// crossed categories. The columns determine how records are parsed. The trained model becomes one graph from the bytes
// of records to probabilities, which TensorFlow can run too.
#include <cstdio>
#include <vector>

#include "panto/apps/programs/data/titanic.h"
#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {

void feature_dnn(Run& run) {
  const NumericColumnPtr years = numeric_column("years", {.normalizer_fn = [](const Tensor& x) { return x / 80.f; }});
  const std::vector<DenseColumnPtr> columns = {
      years,
      bucketized_column(numeric_column("years"), {5, 16, 25, 40}),
      embedding_column(categorical_column_with_hash_bucket("keywords", 100), 16),
      indicator_column(crossed_column({"class", "sex"}, 64)),
  };
  const DenseFeatures inputs(columns);
  const Sequential hidden(Dense(inputs.size(), 128, {.activation = relu}), Dense(128, 64, {.activation = relu}),
                          Dense(64, 32, {.activation = relu}), Dense(32, 1));
  ExampleSpec spec = make_parse_example_spec({columns.begin(), columns.end()});
  spec.emplace("survived", FixedLenFeature{{1}, kFloat32});

  std::vector<Variable> variables = inputs.variables();
  for (const Variable& v : hidden.variables()) variables.push_back(v);
  const std::vector<NamedVariable> named = named_variables(variables);
  run.begin(named);
  Adagrad adagrad(variables, {.learning_rate = 0.05});
  const auto train = trace([&](const Tensor& records) {
    GradientTape tape;
    const Features features = parse_example(records, spec);
    const Tensor logits = hidden(inputs(features));
    const Tensor loss = binary_cross_entropy(logits, features.at("survived").dense(), {.from_logits = true});
    adagrad.apply(tape.gradient(loss, variables));
    return loss;
  });

  const Tensor all = titanic_records();
  const int64_t count = all.numel(), kept = count / 5, batch = 100, steps = run.steps(1000, 200);
  const Tensor order = run.is_compared() ? arange(count) : run.batches(count, count, 1)(0);
  const Tensor kept_records = gather(all, order(Slice(0, kept)));
  const Tensor records = run.is_compared() ? all : gather(all, order(Slice(kept, {})));
  std::printf("%d people, %d of them kept\n", static_cast<int>(count), static_cast<int>(kept));
  const Tensor batches = run.drawn_batches(records.numel(), batch, steps);
  for (int64_t i = 1; i <= steps; ++i) {
    const double loss = train(gather(records, batches(i - 1))).item<double>();
    run.keep_loss(loss);
    if (i % (steps / 10) == 0) std::printf("step %d loss %f\n", static_cast<int>(i), loss);
  }

  ExampleSpec asked = make_parse_example_spec({columns.begin(), columns.end()});
  const auto survives = trace(
      [&](const Tensor& some) {
        return squeeze(sigmoid(hidden(inputs(parse_example(some, asked)))), {.squeeze_dims = {1}});
      },
      {TensorSpec(kString, {-1}, "records")});
  const Tensor truth = parse_example(kept_records, spec).at("survived").dense()(Slice(), 0);
  const Tensor right = (survives(kept_records) > 0.5f) == (truth > 0.5f);
  std::printf("right about %.1f %% of those kept\n", 100 * mean(cast(right, kFloat32)).item<double>());
  run.save_graph(survives);
  run.save(named);
}

}  // namespace panto::apps
