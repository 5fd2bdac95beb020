#include "panto/lib/graph/files/io.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <filesystem>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/files/foreign.h"
#include "panto/lib/graph/files/graph_def.h"
#include "panto/lib/graph/files/wire/proto_text.h"

namespace panto {

namespace {

namespace pb = google::protobuf;

// Binary GraphDefs contain bytes that no text contains: the tag of a node's `op` field is 0x12.
bool is_text(std::string_view bytes) {
  constexpr size_t kLooked = 4096;
  return !bytes.empty() && std::ranges::none_of(bytes.substr(0, kLooked), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r' && byte != '\f';
  });
}

void parse_binary(std::string_view bytes, graphdef::GraphDef& proto) {
  pb::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxProtoNesting);
  if (!proto.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    failf(Code::kDataLoss, "GraphDef: expected a well-formed message of {} bytes, got a fault at or before byte {}",
          bytes.size(), stream.CurrentPosition());
  }
}

// With the default blocks of 8 KiB, the allocator reorganizes its free memory for each block. The arena takes memory
// from both ends of a block, so the block size must be a multiple of the alignment.
pb::ArenaOptions arena_options(size_t bytes) {
  constexpr size_t kSmallest = 4 << 10, kLargest = 1 << 20, kAligned = 64;
  pb::ArenaOptions options;
  options.start_block_size = std::clamp(bytes, kSmallest, kLargest) / kAligned * kAligned;
  options.max_block_size = kLargest;
  return options;
}

std::string lower_extension(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

}  // namespace

namespace {

// Parses the bytes and returns use(message).
template <class Use>
auto with_graph_def(std::string_view bytes, const ImportOptions& options, Use&& use) {
  if (static_cast<int64_t>(bytes.size()) > std::min<int64_t>(options.max_bytes, INT32_MAX)) {
    failf(Code::kResourceExhausted, "GraphDef: expected at most {} bytes, got {}", options.max_bytes, bytes.size());
  }
  refuse_foreign_bytes(bytes);
  const pb::LogSilencer quiet;  // faults become Errors, not lines on standard error
  // An arena frees all messages of a large graph at once. They take about four times the bytes of the file.
  pb::Arena arena(arena_options(bytes.size()));
  auto& proto = *pb::Arena::CreateMessage<graphdef::GraphDef>(&arena);
  if (is_text(bytes)) {
    parse_proto_text(bytes, "GraphDef", proto);
  } else {
    parse_binary(bytes, proto);
  }
  return std::forward<Use>(use)(std::as_const(proto));
}

// Reads a file and returns use(bytes).
template <class Use>
auto with_bytes(const std::string& path, const ImportOptions& options, Use&& use) {
  if (is_folder(path)) {
    failf(Code::kUnimplemented, "model '{}': expected a GraphDef in a file, got a folder (SavedModel)", path);
  }
  const std::string bytes = read_file(path, static_cast<uint64_t>(std::max<int64_t>(options.max_bytes, 0)));
  return with_context([&] { return "file " + path; },
                      [&] {
                        try {
                          return std::forward<Use>(use)(bytes);
                        } catch (const Error& error) {
                          if (error.code() == Code::kDataLoss) refuse_foreign_name(path);
                          throw;
                        }
                      });
}

}  // namespace

Graph parse_graph(std::string_view bytes, const ImportOptions& options) {
  return with_graph_def(bytes, options,
                        [&](const graphdef::GraphDef& proto) { return graph_from_proto(proto, options); });
}

Graph read_graph(const std::string& path, const ImportOptions& options) {
  return with_bytes(path, options, [&](std::string_view bytes) { return parse_graph(bytes, options); });
}

std::string to_graph_def(const Graph& graph, const ExportOptions& options) {
  pb::Arena arena;
  auto& proto = *pb::Arena::CreateMessage<graphdef::GraphDef>(&arena);
  graph_to_proto(graph, options, &proto);
  if (proto.ByteSizeLong() > INT32_MAX) {
    failf(Code::kResourceExhausted, "GraphDef: expected at most 2^31 - 1 bytes, got {} (keep the weights in variables)",
          proto.ByteSizeLong());
  }
  std::string bytes;
  pb::io::StringOutputStream stream(&bytes);
  pb::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);  // maps sorted by key
  proto.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

std::string to_graph_def_text(const Graph& graph, const ExportOptions& options) {
  pb::Arena arena;
  auto& proto = *pb::Arena::CreateMessage<graphdef::GraphDef>(&arena);
  graph_to_proto(graph, options, &proto);
  return proto_text(proto);
}

void write_graph(const Graph& graph, const std::string& path, const ExportOptions& options) {
  const std::string extension = lower_extension(path);
  const bool text = extension == ".pbtxt" || extension == ".txt" || extension == ".prototxt";
  write_file(path, text ? to_graph_def_text(graph, options) : to_graph_def(graph, options));
}

}  // namespace panto
