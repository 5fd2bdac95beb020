// Layers of sequences, images and volumes: convolutions, pools, and others that change sizes. All of the room.
#pragma once

#include "panto/nn/layers/convolution/convolution.h"
#include "panto/nn/layers/convolution/extents.h"
#include "panto/nn/layers/convolution/pooling.h"
#include "panto/nn/layers/convolution/resizing.h"
