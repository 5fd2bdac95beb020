// The one export macro. Everything is compiled with hidden visibility; what users may link to carries PANTO_EXPORT.
#pragma once

#define PANTO_EXPORT __attribute__((visibility("default")))
