// The one export macro. Everything is compiled with hidden visibility; symbols that users may link to carry
// PANTO_EXPORT.
#pragma once

#define PANTO_EXPORT __attribute__((visibility("default")))
