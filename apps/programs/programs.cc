#include "panto/apps/programs/programs.h"

namespace panto::apps {
namespace {

constexpr Program kPrograms[] = {
    {"autoencoder", "digits through a code of 32 numbers and back, with pictures", autoencoder},
    {"character_gpt", "a small GPT writes a text on, with cached keys", character_gpt},
    {"character_lstm", "a recurrent network writes a text on", character_lstm},
    {"feature_dnn", "who survived the Titanic, by feature columns of every kind", feature_dnn},
    {"kmeans", "10,000 points in four clusters, as a TensorFlow 1 program", kmeans},
    {"linear_regression", "a line through points, as a TensorFlow 1 program", linear_regression},
    {"linear_regression_eager", "the same without a graph", linear_regression_eager},
    {"logistic_regression", "digits by the softmax of a product, full batches", logistic_regression},
    {"mnist_cnn", "digits by convolutions, layers on variable scopes", mnist_cnn},
    {"mnist_dnn", "digits by two layers of tanh, as a TensorFlow 1 program", mnist_dnn},
    {"queue_pipeline", "files read by threads into queues, batches out of them", queue_pipeline},
    {"seq2seq", "numbers said backwards, the model on two devices", seq2seq},
    {"transfer", "a body that Keras has trained, with a new head", transfer},
    {"wide_deep", "who survived the Titanic, by feature columns and records", wide_deep},
    {"word2vec", "vectors of words by a sampled softmax", word2vec},
};

}  // namespace

std::span<const Program> programs() { return kPrograms; }

}  // namespace panto::apps
