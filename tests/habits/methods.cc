// Methods of PyTorch and NumPy, and operators of bools and bits.
Tensor row = tensor({-1.5f, 2.f, -3.f});
row.abs()
// [1.5 2.  3. ]  float32[3], CPU:0
row.to(kInt32)
// [-1  2 -3]  int32[3], CPU:0
row.clip(-2.f, 1.f)
// [-1.5  1.  -2. ]  float32[3], CPU:0
row.sort()
// [-3.  -1.5  2. ]  float32[3], CPU:0
row.argsort()
// [2 0 1]  int64[3], CPU:0
row.cumsum(0)
// [-1.5  0.5 -2.5]  float32[3], CPU:0
row.pow(2)
// [2.25 4.   9.  ]  float32[3], CPU:0
row.unsqueeze(0).matmul(row).squeeze()
// 15.25  float32[], CPU:0
row.unsqueeze(0).flatten().shape()
// [3]
(row > -2.f) & (row < 1.f)
// [ True False False]  bool[3], CPU:0
(row > 0.f) | (row < -2.f)
// [False  True  True]  bool[3], CPU:0
(row > 0.f) ^ (row > -2.f)
// [ True False False]  bool[3], CPU:0
~(row > 0.f)
// [ True False  True]  bool[3], CPU:0
tensor({6, 3}) & 2
// [2 2]  int32[2], CPU:0
~tensor({6, -1})
// [-7  0]  int32[2], CPU:0
fft(row).abs().shape()
// [3]
fft(row).real().dtype() == kFloat32
// true
