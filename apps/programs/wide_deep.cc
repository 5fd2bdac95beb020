// Who survived the Titanic: a deep model on feature columns, and a wide and deep one (Cheng et al. 2016) that adds a
// linear model of crossed categories. The columns determine how Example records are parsed.
#include <cstdio>
#include <optional>
#include <vector>

#include "panto/apps/programs/data/titanic.h"
#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {
namespace {

// The columns and the layers on them.
struct Model {
  explicit Model(bool is_wide) {
    if (is_wide) wide.emplace(linear, LinearModelOptions(), "wide");
  }
  Tensor operator()(const Features& features) const {
    const Tensor logits = head(hidden(inputs(features)));
    return wide ? logits + (*wide)(features) : logits;
  }
  std::vector<Variable> variables_of_wide() const { return wide ? wide->variables() : std::vector<Variable>(); }
  std::vector<Variable> variables_of_deep() const {
    std::vector<Variable> all = inputs.variables();
    for (const Layer* layer : {static_cast<const Layer*>(&hidden), static_cast<const Layer*>(&head)}) {
      for (const Variable& v : layer->variables()) all.push_back(v);
    }
    return all;
  }
  CategoricalColumnPtr travelled =
      categorical_column_with_vocabulary_list("class", {"first", "second", "third", "crew"});
  CategoricalColumnPtr sex = categorical_column_with_vocabulary_list("sex", {"male", "female"});
  CategoricalColumnPtr age = categorical_column_with_vocabulary_list("age", {"child", "adult"});
  CategoricalColumnPtr keywords = categorical_column_with_hash_bucket("keywords", 50);
  std::vector<FeatureColumnPtr> linear = {travelled, sex, age, keywords, crossed_column({"class", "sex", "age"}, 64)};
  DenseFeatures inputs{
      {embedding_column(travelled, 4), embedding_column(keywords, 8), indicator_column(sex), indicator_column(age)}};
  Dense hidden{16, 16, {.activation = relu, .name = "hidden"}}, head{16, 1, {.name = "head"}};
  std::optional<LinearFeatures> wide;
};

}  // namespace

void wide_deep(Run& run) {
  const Tensor all = titanic_records();
  const int64_t count = all.numel(), kept = count / 5, batch = 100;
  // Splits into training and held-out records. If losses are compared, all records are for training.
  const Tensor order = run.is_compared() ? arange(count) : run.batches(count, count, 1)(0);
  const Tensor kept_records = gather(all, order(Slice(0, kept)));
  const Tensor records = run.is_compared() ? all : gather(all, order(Slice(kept, {})));
  std::printf("%d people, %d of them kept\n", static_cast<int>(count), static_cast<int>(kept));

  for (const bool is_wide : {false, true}) {
    const Model model(is_wide);
    std::vector<Variable> variables = model.variables_of_deep();
    const auto deep = static_cast<int64_t>(variables.size());
    for (const Variable& v : model.variables_of_wide()) variables.push_back(v);
    const std::vector<NamedVariable> learned = named_variables(variables);
    if (is_wide) run.begin(learned);
    ExampleSpec spec = make_parse_example_spec(model.linear);
    spec.emplace("survived", FixedLenFeature{{1}, kFloat32});
    Adagrad adagrad(model.variables_of_deep(), {.learning_rate = 0.1});
    std::optional<Ftrl> ftrl;
    if (is_wide) ftrl.emplace(model.wide->variables(), FtrlOptions{.learning_rate = 0.1});
    const auto train = trace([&](const Tensor& some) {
      GradientTape tape;
      const Features features = parse_example(some, spec);
      const Tensor loss = binary_cross_entropy(model(features), features.at("survived").dense(), {.from_logits = true});
      const std::vector<Tensor> gradients = tape.gradient(loss, variables);
      adagrad.apply(std::vector<Tensor>(gradients.begin(), gradients.begin() + deep));
      if (ftrl) ftrl->apply(std::vector<Tensor>(gradients.begin() + deep, gradients.end()));
      return loss;
    });
    const int64_t steps = run.steps(1000, 200);
    const Tensor batches = run.drawn_batches(records.numel(), batch, steps);
    double loss = 0;
    for (int64_t i = 0; i < steps; ++i) {
      loss = train(gather(records, batches(i))).item<double>();
      if (is_wide) run.keep_loss(loss);
    }
    const Features features = parse_example(kept_records, spec);
    const Tensor right = (model(features) > 0.f) == (features.at("survived").dense() > 0.5f);
    std::printf("%s: loss %f, right about %.1f %% of those kept\n", is_wide ? "wide and deep" : "deep", loss,
                100 * mean(cast(right, kFloat32)).item<double>());
    if (!is_wide) continue;
    run.save(learned);
    const ExampleSpec asked = make_parse_example_spec(model.linear);
    run.save_graph(trace([&](const Tensor& some) { return sigmoid(model(parse_example(some, asked)))(Slice(), 0); },
                         {TensorSpec(kString, {-1}, "records")}));
  }
}

}  // namespace panto::apps
