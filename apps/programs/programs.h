// The programs of `panto train`, by name. Each is a file in this folder, written as a user would write it.
#pragma once

#include <span>
#include <string_view>

#include "panto/apps/programs/run.h"

namespace panto::apps {

void autoencoder(Run& run);
void character_gpt(Run& run);
void character_lstm(Run& run);
void feature_dnn(Run& run);
void kmeans(Run& run);
void linear_regression(Run& run);
void linear_regression_eager(Run& run);
void logistic_regression(Run& run);
void mnist_cnn(Run& run);
void mnist_dnn(Run& run);
void queue_pipeline(Run& run);
void seq2seq(Run& run);
void transfer(Run& run);
void wide_deep(Run& run);
void word2vec(Run& run);

struct Program {
  std::string_view name;
  std::string_view summary;  // one line
  void (*run)(Run& run);
};

// Returns all programs in alphabetical order.
std::span<const Program> programs();

}  // namespace panto::apps
