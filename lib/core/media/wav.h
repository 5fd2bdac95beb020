// Sound: WAV files of 16 bits a sample (PCM) as tensors.
//
//   const Wav voice = read_wav("voice.wav");                    // float32 [frames, channels] from -1 to 1
//   write_wav("loud.wav", voice.samples * 2.0f, voice.sample_rate);
//
// Samples are a 32768th of the file's numbers; what is beyond -1 or 1 is cut off. Throw DataLoss for truncated and
// damaged files, Unimplemented for other kinds of WAV, InvalidArgument for what is none, and as read_file and
// write_file. Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct Wav {
  Tensor samples;
  int64_t sample_rate = 0;  // frames in a second
};

struct WavOptions {
  // More of them than the file has repeat its last channel, and are silent at the end; -1: as in the file. A negative
  // number of another size is InvalidArgument.
  int64_t channels = -1;
  int64_t frames = -1;
  // Of the decoded samples. More is refused before memory is taken, with ResourceExhausted.
  int64_t max_bytes = int64_t{1} << 31;
};

PANTO_EXPORT Wav read_wav(const std::string& path, const WavOptions& options = {});
PANTO_EXPORT Wav wav_from_bytes(std::string_view bytes, const WavOptions& options = {});
// Samples are float32 [frames] or [frames, channels]. InvalidArgument for others, and for a rate that is not
// positive.
PANTO_EXPORT void write_wav(const std::string& path, const Tensor& samples, int64_t sample_rate);
PANTO_EXPORT std::string wav_bytes(const Tensor& samples, int64_t sample_rate);

}  // namespace panto
