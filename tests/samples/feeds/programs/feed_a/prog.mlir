module @jit_a {
  func.func public @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) {
    %t0 = stablehlo.create_token : !stablehlo.token
    %t1 = stablehlo.create_token : !stablehlo.token
    %a:2 = "stablehlo.infeed"(%t0) {infeed_config = "", layout = [[1, 0]]} : (!stablehlo.token) -> (tensor<64x64xf32>, !stablehlo.token)
    %b:2 = "stablehlo.infeed"(%t1) {infeed_config = "", layout = [[1, 0]]} : (!stablehlo.token) -> (tensor<64x64xf32>, !stablehlo.token)
    %o1 = "stablehlo.outfeed"(%a#0, %a#1) {outfeed_config = ""} : (tensor<64x64xf32>, !stablehlo.token) -> !stablehlo.token
    %o2 = "stablehlo.outfeed"(%b#0, %b#1) {outfeed_config = ""} : (tensor<64x64xf32>, !stablehlo.token) -> !stablehlo.token
    %c:2 = "stablehlo.infeed"(%o1) {infeed_config = "", layout = [[1, 0]]} : (!stablehlo.token) -> (tensor<64x64xf32>, !stablehlo.token)
    %s = stablehlo.add %a#0, %c#0 : tensor<64x64xf32>
    %o3 = "stablehlo.outfeed"(%s, %o2) {outfeed_config = ""} : (tensor<64x64xf32>, !stablehlo.token) -> !stablehlo.token
    return %s : tensor<64x64xf32>
  }
}
