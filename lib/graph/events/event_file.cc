#include "panto/lib/graph/events/event_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/record_file.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/events/exact_tensor.h"
#include "panto/lib/graph/files/wire/proto_text.h"
#include "panto/lib/graph/files/wire/tensor_proto.h"
#include "panto/lib/graph/proto/event.pb.h"

namespace panto {
namespace {

// A tensor of one repeated value takes few bytes in a file: limit for the memory that an event may take beyond its
// bytes.
constexpr int64_t kMaxExpandedBytes = int64_t{1} << 26;

// ---- Reading -------------------------------------------------------------------------------------------------------

Tensor buckets_of(const graphdef::HistogramProto& histogram) {
  const int count = histogram.bucket_size();
  if (histogram.bucket_limit_size() != count) {
    failf(Code::kDataLoss, "histogram: expected {} limits of buckets, got {}", count, histogram.bucket_limit_size());
  }
  Tensor t = allocate_tensor(cpu_device(), kFloat64, Shape{count, 3});
  auto* out = mutable_data<double>(t);
  for (int i = 0; i < count; ++i) {
    *out++ = i == 0 ? histogram.min() : histogram.bucket_limit(i - 1);
    *out++ = i + 1 == count ? histogram.max() : histogram.bucket_limit(i);
    *out++ = histogram.bucket(i);
  }
  return t;
}

SummaryValue value_of(const graphdef::Summary::Value& proto, ExpansionBudget& budget) {
  using Value = graphdef::Summary::Value;
  SummaryValue value;
  value.tag = proto.tag().empty() ? proto.node_name() : proto.tag();
  value.plugin = proto.metadata().plugin_data().plugin_name();
  value.content = proto.metadata().plugin_data().content();
  const auto shown_by = [&](std::string_view plugin, Tensor t) {
    if (value.plugin.empty()) value.plugin = plugin;
    value.value = std::move(t);
  };
  switch (proto.value_case()) {
    case Value::kSimpleValue: {
      Tensor t = allocate_tensor(cpu_device(), kFloat32, Shape{});
      *mutable_data<float>(t) = proto.simple_value();
      shown_by("scalars", std::move(t));
      break;
    }
    case Value::kHisto: shown_by("histograms", buckets_of(proto.histo())); break;
    case Value::kImage:
      shown_by("images", tensor_from_strings(
                             Shape{3}, {std::to_string(proto.image().width()), std::to_string(proto.image().height()),
                                        proto.image().encoded_image_string()}));
      break;
    case Value::kAudio:
      shown_by("audio", tensor_from_strings(Shape{1, 2}, {proto.audio().encoded_audio_string(), ""}));
      break;
    case Value::kTensor: value.value = tensor_from_proto(proto.tensor(), budget); break;
    case Value::kObsoleteOldStyleHistogram:
      fail(Code::kUnimplemented, "summary: expected a histogram of today, got one from before 2015");
    case Value::VALUE_NOT_SET: fail(Code::kDataLoss, "summary: expected a value, got none");
  }
  return value;
}

// ---- Writing -------------------------------------------------------------------------------------------------------

graphdef::DataClass class_of(const std::string& plugin) {
  if (plugin == "scalars") return graphdef::DATA_CLASS_SCALAR;
  if (plugin == "images" || plugin == "audio") return graphdef::DATA_CLASS_BLOB_SEQUENCE;
  if (plugin == "histograms" || plugin == "text" || plugin == "pr_curves") return graphdef::DATA_CLASS_TENSOR;
  return graphdef::DATA_CLASS_UNKNOWN;
}

void write_value(const SummaryValue& value, graphdef::Summary::Value* proto) {
  proto->set_tag(value.tag);
  if (!value.plugin.empty()) {
    proto->mutable_metadata()->mutable_plugin_data()->set_plugin_name(value.plugin);
    proto->mutable_metadata()->set_data_class(class_of(value.plugin));
    if (!value.content.empty()) proto->mutable_metadata()->mutable_plugin_data()->set_content(value.content);
  }
  const Tensor t = value.value.cpu();
  if (!is_plain(t.dtype()) && t.dtype() != kString) {
    invalid("summary '{}': expected a dtype with values, got {}", value.tag, dtype_name(t.dtype()));
  }
  exact_tensor_to_proto(t, proto->mutable_tensor());
}

}  // namespace

void exact_tensor_to_proto(const Tensor& t, graphdef::TensorProto* proto) {
  proto->set_dtype(static_cast<graphdef::DataType>(t.dtype()));
  shape_to_proto(t.shape(), proto->mutable_tensor_shape());
  if (t.dtype() == kString) {
    for (const std::string& text : t.data<std::string>()) proto->add_string_val(text);
  } else if (t.numel() > 0) {
    proto->set_tensor_content(t.impl()->data, t.nbytes());
  }
}

SummaryEvent parse_event(std::string_view bytes) {
  graphdef::Event proto;
  if (!parse_proto(bytes, proto)) fail(Code::kDataLoss, "event: expected an Event, got other bytes");
  SummaryEvent event;
  event.wall_time = proto.wall_time();
  event.step = proto.step();
  event.file_version = proto.file_version();
  event.graph_def = proto.graph_def();
  ExpansionBudget budget(kMaxExpandedBytes);
  for (const auto& value : proto.summary().value()) {
    event.values.push_back(
        with_context([&] { return fmt::format("in summary '{}' of step {}", printable(value.tag()), proto.step()); },
                     [&] { return value_of(value, budget); }));
  }
  return event;
}

std::string event_bytes(const SummaryEvent& event) {
  graphdef::Event proto;
  proto.set_wall_time(event.wall_time);
  proto.set_step(event.step);
  const int parts = static_cast<int>(!event.file_version.empty()) + static_cast<int>(!event.graph_def.empty()) +
                    static_cast<int>(!event.values.empty());
  if (parts > 1) invalid("event: expected a version, a graph or values, got {} of these", parts);
  if (!event.file_version.empty()) proto.set_file_version(event.file_version);
  if (!event.graph_def.empty()) proto.set_graph_def(event.graph_def);
  for (const SummaryValue& value : event.values) write_value(value, proto.mutable_summary()->add_value());
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) fail(Code::kResourceExhausted, "event: expected less than 2 GiB, got more");
  return bytes;
}

struct EventReader::Impl {
  explicit Impl(const std::string& path) : path(path), records(path) {}
  std::string path;
  RecordReader records;
  std::string record;
  std::unordered_map<std::string, std::string> plugins;  // by tag: only a tag's first value names the plugin
};

EventReader::EventReader(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}
EventReader::~EventReader() = default;

bool EventReader::read(SummaryEvent& event) {
  const uint64_t begin = impl_->records.offset();
  if (!impl_->records.read(impl_->record)) return false;
  event =
      with_context([&] { return fmt::format("in file '{}', the record at byte {}", printable(impl_->path), begin); },
                   [&] { return parse_event(impl_->record); });
  for (SummaryValue& value : event.values) {
    if (value.plugin.empty()) {
      if (const auto found = impl_->plugins.find(value.tag); found != impl_->plugins.end()) {
        value.plugin = found->second;
      }
    } else {
      impl_->plugins.emplace(value.tag, value.plugin);
    }
  }
  return true;
}

std::vector<SummaryEvent> read_events(const std::string& path) {
  std::vector<std::string> files;
  if (is_folder(path)) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      std::string file = entry->path().string();
      if (entry->path().filename().string().find("tfevents") != std::string::npos && is_file(file)) {
        files.push_back(std::move(file));
      }
    }
    if (error) fail_file(error.value(), "read", path);
    if (files.empty()) failf(Code::kNotFound, "folder '{}': expected event files (*tfevents*), got none", path);
    std::ranges::sort(files);
  } else {
    files.push_back(path);
  }
  std::vector<SummaryEvent> events;
  for (const std::string& file : files) {
    EventReader reader(file);
    for (SummaryEvent event; reader.read(event);) events.push_back(std::move(event));
  }
  return events;
}

}  // namespace panto
