// Normalisation layers: includes all headers of normalization/.
#pragma once

#include "panto/nn/layers/normalization/batch_norm.h"
#include "panto/nn/layers/normalization/norms.h"
#include "panto/nn/layers/normalization/spectral_norm.h"
