module @jit_b {
  func.func public @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>) {
    %t0 = stablehlo.create_token : !stablehlo.token
    %a:2 = "stablehlo.infeed"(%t0) {infeed_config = "", layout = [[1, 0]]} : (!stablehlo.token) -> (tensor<64x64xf32>, !stablehlo.token)
    %b:2 = "stablehlo.infeed"(%t0) {infeed_config = "", layout = [[1, 0]]} : (!stablehlo.token) -> (tensor<64x64xf32>, !stablehlo.token)
    %j = "stablehlo.after_all"(%a#1, %b#1) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
    %o1 = "stablehlo.outfeed"(%a#0, %b#0, %j) {outfeed_config = ""} : (tensor<64x64xf32>, tensor<64x64xf32>, !stablehlo.token) -> !stablehlo.token
    %c:3 = "stablehlo.infeed"(%o1) {infeed_config = "", layout = [[1, 0],[1,0]]} : (!stablehlo.token) -> (tensor<64x64xf32>, tensor<64x64xf32>, !stablehlo.token)
    %s = stablehlo.add %c#1, %c#0 : tensor<64x64xf32>
    %d = stablehlo.dot_general %s, %a#0, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %d : tensor<64x64xf32>
  }
}
