// A library as the headers of an older version made it: it refers to that version.
#include <panto/lib/base/version.h>

#undef PANTO_VERSION_SYMBOL
#define PANTO_VERSION_SYMBOL panto_version_0_0_9

extern "C" const char PANTO_VERSION_SYMBOL;
extern "C" PANTO_EXPORT const char* made_for() { return &PANTO_VERSION_SYMBOL; }
