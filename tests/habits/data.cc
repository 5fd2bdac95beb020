// Data and files.
char folder_name[] = "/tmp/panto-habits-XXXXXX";
std::string folder = std::string(mkdtemp(folder_name)) + "/";
Tensor x = reshape(arange(6.f), {3, 2});
Tensor y = tensor({0, 1, 2});
write_npy(folder + "x.npy", x);
read_npy(folder + "x.npy").shape()
// [3,2]
write_npz(folder + "a.npz", {{"x", x}, {"y", y}});
read_npz(folder + "a.npz")[1].second
// [0 1 2]  int32[3], CPU:0
write_safetensors(folder + "a.safetensors", {{"x", x}, {"y", y}});
read_safetensors(folder + "a.safetensors")[0].first
// "x"
Sequential model(Dense(2, 3, {.activation = relu}), Dense(3, 1));
model.save(folder + "m.safetensors");
model.load(folder + "m.safetensors");
model.named_variables()[2].first
// "dense_1/kernel"
Adam adam(model.variables());
save_variables(folder + "adam.npz", adam.slots());
load_variables(folder + "adam.npz", adam.slots());
Dense(2, 4).load(folder + "m.safetensors");
// InvalidArgument: load: expected float32[2,4] for variable 'dense/kernel', got float32[2,3]
Dataset pairs = Dataset::from_tensors({x, y});
pairs
// Dataset of 3 elements
pairs.shuffle(3, 1).repeat(2).batch(4)
// Dataset of 2 elements
auto sums = pairs.map([](const Tensor& a, const Tensor& b) { return std::pair(sum(a), b); }, {.threads = 2}).prefetch(2);
Tensor total = tensor(0.f);
for (auto [a, b] : sums.batch(2)) total = total + sum(a);
total
// 15.0  float32[], CPU:0
for (auto [a] : Dataset::from_tensors({y}).as<1>()) total = total + cast(a, kFloat32);
total
// 18.0  float32[], CPU:0
*pairs.skip(2).begin()
// (float32[2], int32[])
Dataset::from_tensors({x, zeros({4})})
// InvalidArgument: from_tensors: expected the same first dimension, got shapes [3,2] and [4]
pairs.take(2).batch(2, {.drop_remainder = true})
// Dataset of 1 element
Dataset::range(2, 8, 3).concatenate(Dataset::from_range(std::vector<int>{4})).enumerate()
// Dataset of 3 elements
pairs.shard(2, 1).cache().padded_batch(2)
// Dataset of 1 element
pairs.filter([](const Tensor&, const Tensor& b) { return b > 0; })
// Dataset of elements
Dataset::range(3).flat_map([](const Tensor& n) { return Dataset::range(n.item<int64_t>()); }).begin()->to_string()
// "(int64[])"
std::string position = pairs.state();
pairs.restore(position);
pairs.batch(3).restore(position);
// InvalidArgument: state: expected one of a pipeline with 'batch' here, got one with 'from_tensors'
FILE* table = fopen((folder + "t.csv").c_str(), "w");
fputs("a,b,k\n1,2,0\n3,4,1\n", table);
fclose(table);
read_csv(folder + "t.csv").values
// [[1. 2. 0.]
//  [3. 4. 1.]]
// float32[2,3], CPU:0
Dataset::from_csv(folder + "t.csv", {.label = "k"})
// Dataset of 2 elements
parse_csv("a,b,kind\n1,2,x\n3,4,y\n", {.label = "kind", .label_dtype = kString}).values
// [[1. 2.]
//  [3. 4.]]
// float32[2,2], CPU:0
parse_csv("a,b\n1,two\n").values
// InvalidArgument: csv: expected float32, got 'two' [line 2, column 'b']
write_png(folder + "i.png", full({2, 3, 1}, 7).cast(kUint8));
read_image(folder + "i.png").shape()
// [2,3,1]
read_image(folder + "i.png", {.channels = 3}).shape()
// [2,3,3]
Dataset names = Dataset::from_tensors({tensor(std::vector<std::string>{folder + "i.png"})});
names.map([](const Tensor& name) { return read_image(name.item<std::string>()); }, {.threads = 2}).begin()->to_string()
// "(uint8[2,3,1])"
png_bytes(read_image(folder + "i.png")).size() > 60
// true
write_jpeg(folder + "i.jpg", zeros({8, 8, 3}, kUint8), {.quality = 80});
read_image(folder + "i.jpg").shape()
// [8,8,3]
write_image(folder + "i.bmp", read_image(folder + "i.png"));
decode_bmp(bmp_bytes(read_image(folder + "i.bmp"))).shape()
// [2,3,1]
Tensor contents = tensor(jpeg_bytes(read_image(folder + "i.jpg")));
decode_jpeg(contents, {.channels = 1}).shape()
// [8,8,1]
encode_jpeg(decode_jpeg(contents), {.quality = 90}).shape()
// []
write_wav(folder + "a.wav", zeros({8, 2}), 8000);
read_wav(folder + "a.wav").samples.shape()
// [8,2]
decode_wav(wav_bytes(zeros({8, 2}), 8000), {.desired_channels = 1}).audio.shape()
// [8,1]
audio_spectrogram(zeros({8, 2}), 4, 2).shape()
// [2,3,3]
SummaryWriter writer(folder + "runs");
writer.add_summary(merge_summary({scalar_summary("loss", 0.5f), histogram_summary("x", zeros({2}))}), 10);
writer.close();
read_events(folder + "runs").back().values.size()
// 2
std::vector<double> losses = {4, 2, 1};
plot(losses, {.path = folder + "l.svg"});
plot_text({losses}, {.width = 3, .height = 3, .ascii = true}).substr(0, 6)
// "  4 +*"
Progress bar(3, "epoch 1", {.lines = false});
bar.advance({{"loss", losses[0]}});
for (const char* name : {"x.npy", "a.npz", "a.safetensors", "m.safetensors", "adam.npz", "i.png", "i.jpg", "l.svg", "t.csv", ""}) remove((folder + name).c_str());
