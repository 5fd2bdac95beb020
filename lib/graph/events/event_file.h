// Event files: what a training run logged for TensorBoard, one record for each event.
//
//   for (const SummaryEvent& event : read_events("runs/1")) {
//     for (const SummaryValue& v : event.values) std::cout << event.step << ' ' << v.tag << ' ' << v.value << '\n';
//   }
//
// SummaryWriter (panto/nn/summaries/summary_writer.h) writes them. Values have TensorFlow 2's form, a tensor and the
// plugin that shows it; values of TensorFlow 1 and PyTorch are converted to it when they are read:
//
//   plugin        value
//   "scalars"     float32 []
//   "histograms"  float64 [buckets, 3]: from, to, how many
//   "images"      string [2 + images]: width, height, then each as PNG or JPEG
//   "audio"       string [clips, 2]: each as WAV, and a label
//   "text"        string of any shape
//   "pr_curves"   float32 [6, thresholds]: true and false positives, true and false negatives, precision, recall
//   "hparams"     float32 [0]: all is in `content`
//
// For any file content, reading returns values or throws an Error that names the file.
// Thread-safety: plain functions; an EventReader belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct SummaryValue {
  std::string tag;
  std::string plugin;  // "scalars", ...; empty if the file does not say
  Tensor value;
  std::string content = {};  // data of the plugin: a protocol buffer of its own
};

struct SummaryEvent {
  double wall_time = 0;  // seconds since 1970
  int64_t step = 0;
  std::string file_version;  // of the first record: "brain.Event:2"
  std::string graph_def;     // a serialized GraphDef: parse_graph reads it
  std::vector<SummaryValue> values;
};

class PANTO_EXPORT EventReader {
 public:
  explicit EventReader(const std::string& path);
  ~EventReader();
  EventReader(const EventReader&) = delete;
  EventReader& operator=(const EventReader&) = delete;

  // Reads the next event; returns false at the end. Throws DataLoss for a damaged or truncated record (the last one of
  // a file that is being written may be truncated); Unimplemented for values of dtypes that this library lacks.
  bool read(SummaryEvent& event);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// All events of a file, or of all event files in a folder, sorted by file name. Throws NotFound if there is none, and
// as EventReader.
PANTO_EXPORT std::vector<SummaryEvent> read_events(const std::string& path);
// Serializes or parses one record. Throws InvalidArgument for an event that has more than one of a version, a graph and
// values, and for values without bytes.
PANTO_EXPORT std::string event_bytes(const SummaryEvent& event);
PANTO_EXPORT SummaryEvent parse_event(std::string_view bytes);

}  // namespace panto
