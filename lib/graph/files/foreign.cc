#include "panto/lib/graph/files/foreign.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "panto/lib/base/text/format.h"

namespace panto {

namespace {

// The fields of a protobuf message with numbers below 16: bit w is set if the field occurs with wire type w.
using Fields = std::array<uint8_t, 16>;
constexpr uint8_t kVarint = 1 << 0, kLengthDelimited = 1 << 2;

std::optional<uint64_t> read_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

// nullopt if the bytes are not a message, or have fields with higher numbers.
std::optional<Fields> fields_of(std::string_view bytes) {
  Fields fields{};
  while (!bytes.empty()) {
    const std::optional<uint64_t> tag = read_varint(bytes);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 >= fields.size()) return std::nullopt;
    const auto wire = static_cast<int>(*tag & 7);
    fields[*tag >> 3] |= static_cast<uint8_t>(1 << wire);
    uint64_t skipped = wire == 1 ? 8 : wire == 5 ? 4 : 0;
    if (wire == 0 || wire == 2) {
      const std::optional<uint64_t> value = read_varint(bytes);
      if (!value) return std::nullopt;
      if (wire == 2) skipped = *value;
    } else if (wire != 1 && wire != 5) {
      return std::nullopt;
    }
    if (skipped > bytes.size()) return std::nullopt;
    bytes.remove_prefix(skipped);
  }
  return fields;
}

// A file to examine. Its fields are parsed once.
struct Bytes {
  std::string_view all;
  std::optional<Fields> fields = fields_of(all);

  uint8_t field(size_t number) const { return fields ? (*fields)[number] : uint8_t{0}; }
  bool starts_with(std::string_view magic) const { return all.starts_with(magic); }
  bool is_zip() const { return all.starts_with("PK\x03\x04"); }
  // True if a zip archive has an entry of this name; the list of entries is at the archive's end.
  bool has_entry(std::string_view name) const { return is_zip() && all.rfind(name) != std::string_view::npos; }
  // True for the text form of a message whose first field is `field`.
  bool is_text_of(std::string_view field) const {
    const size_t at = all.find_first_not_of(" \t\r\n");
    if (at == std::string_view::npos || !all.substr(at).starts_with(field)) return false;
    const size_t after = all.find_first_not_of(' ', at + field.size());
    return after != std::string_view::npos && (all[after] == ':' || all[after] == '{');
  }
  uint64_t little_endian(size_t at) const {
    uint64_t value = 0;
    for (size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(all[at + i]);
    return value;
  }
};

bool is_saved_model(const Bytes& b) {
  if (b.is_text_of("saved_model_schema_version") || b.is_text_of("meta_graphs")) return true;
  if (b.field(1) != kVarint || b.field(2) != kLengthDelimited) return false;  // in a GraphDef, field 1 has the nodes
  return std::all_of(b.fields->begin() + 3, b.fields->end(), [](uint8_t wires) { return wires == 0; });
}
bool is_onnx(const Bytes& b) { return b.field(1) == kVarint && b.field(7) == kLengthDelimited; }
// In a GraphDef, field 3 is a number, and fields above 5 do not exist.
bool is_meta_graph(const Bytes& b) {
  if (b.is_text_of("meta_info_def") || b.is_text_of("graph_def")) return true;
  return b.field(1) == kLengthDelimited && b.field(2) == kLengthDelimited &&
         (b.field(3) == kLengthDelimited || b.field(6) == kLengthDelimited || b.field(7) == kLengthDelimited);
}
bool is_checkpoint(const Bytes& b) {
  constexpr uint64_t kTableMagic = 0xdb4775248b80fb57;  // its last eight bytes
  if (b.is_text_of("model_checkpoint_path")) return true;
  return b.all.size() >= 48 && b.little_endian(b.all.size() - 8) == kTableMagic;
}
bool is_hdf5(const Bytes& b) { return b.starts_with("\x89HDF\r\n\x1a\n"); }
bool is_keras(const Bytes& b) { return b.has_entry("model.weights.h5"); }
bool is_torch(const Bytes& b) {
  // A zip archive; before version 1.6 a pickle that begins with a magic number.
  return b.has_entry("/data.pkl") || b.starts_with("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19");
}
bool is_tflite(const Bytes& b) { return b.all.size() > 8 && b.all.substr(4, 4) == "TFL3"; }
bool is_numpy(const Bytes& b) { return b.starts_with("\x93NUMPY") || b.has_entry(".npy"); }
bool is_safetensors(const Bytes& b) {
  return b.all.size() > 9 && b.all[8] == '{' && b.little_endian(0) <= b.all.size() - 8;
}
bool is_packed(const Bytes& b) { return b.is_zip() || b.starts_with("\x1f\x8b"); }

struct Format {
  bool (*found)(const Bytes&);
  std::string_view names;  // typical ending of file names
  Code code;
  const char* what;
  const char* advice;
};

constexpr const char* kFreeze =
    "in TensorFlow, freeze a function of it, convert_variables_to_constants_v2(model.signatures['serving_default']), "
    "and write its graph.as_graph_def()";
constexpr const char* kWeights =
    "it holds weights: save them there as .npz or .safetensors, and read them with read_npz or read_safetensors";
constexpr const char* kCheckpoint =
    "it holds values: for read_checkpoint and a model's load, and panto inspect lists them";

// In order of priority: the first match counts.
constexpr std::array kFormats{
    Format{is_saved_model, "", Code::kUnimplemented, "a SavedModel", kFreeze},
    Format{is_onnx, ".onnx", Code::kUnimplemented, "an ONNX model",
           "write the model from its framework as a GraphDef, or its weights as .npz or .safetensors"},
    Format{is_meta_graph, ".meta", Code::kUnimplemented, "a MetaGraphDef (.meta)",
           "in TensorFlow, import it, restore the checkpoint beside it, and write "
           "graph_util.convert_variables_to_constants(session, graph_def, outputs)"},
    Format{is_checkpoint, ".index", Code::kInvalidArgument, "a TensorFlow checkpoint", kCheckpoint},
    Format{nullptr, ".data-#####-of-#####", Code::kInvalidArgument, "a TensorFlow checkpoint's data", kCheckpoint},
    Format{is_hdf5, ".h5", Code::kUnimplemented, "an HDF5 file (Keras saves models in such)", kWeights},
    Format{is_keras, ".keras", Code::kUnimplemented, "a Keras model (.keras)", kWeights},
    Format{is_torch, ".pt", Code::kUnimplemented, "a PyTorch file (.pt)", kWeights},
    Format{is_tflite, ".tflite", Code::kUnimplemented, "a TensorFlow Lite model", "take the model it was made of"},
    Format{is_numpy, "", Code::kInvalidArgument, "NumPy arrays",
           "values are for --feed and --feeds, read_npy, read_npz"},
    Format{is_safetensors, "", Code::kInvalidArgument, "a .safetensors file",
           "values are for --feeds, read_safetensors and a model's load"},
    Format{is_packed, "", Code::kInvalidArgument, "an archive", "unpack it"},
};

// Compares the end of `path`; '#' in `ending` matches a digit.
bool ends_like(std::string_view path, std::string_view ending) {
  if (ending.empty() || path.size() < ending.size()) return false;
  return std::ranges::equal(path.substr(path.size() - ending.size()), ending,
                            [](char c, char like) { return like == '#' ? c >= '0' && c <= '9' : c == like; });
}

[[noreturn]] void refuse(const Format& format) {
  failf(format.code, "model: expected a GraphDef, got {}; {}", whole(format.what), whole(format.advice));
}

}  // namespace

void refuse_foreign_bytes(std::string_view bytes) {
  const Bytes examined{bytes};
  for (const Format& format : kFormats) {
    if (format.found != nullptr && format.found(examined)) refuse(format);
  }
}

void refuse_foreign_name(const std::string& path) {
  for (const Format& format : kFormats) {
    if (ends_like(path, format.names)) refuse(format);
  }
}

}  // namespace panto
