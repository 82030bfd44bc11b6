module @jit_c {
  func.func public @main(%x: tensor<64x64xf32>, %n: tensor<i32>) -> (tensor<64x64xf32>) {
    %t0 = stablehlo.create_token : !stablehlo.token
    %r:3 = stablehlo.while(%i = %n, %v = %x, %t = %t0) : tensor<i32>, tensor<64x64xf32>, !stablehlo.token
     cond {
      %z = stablehlo.constant dense<0> : tensor<i32>
      %p = stablehlo.compare GT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %i2 = stablehlo.subtract %i, %one : tensor<i32>
      %a:2 = "stablehlo.infeed"(%t) {infeed_config = "", layout = [[1, 0]]} : (!stablehlo.token) -> (tensor<64x64xf32>, !stablehlo.token)
      %s = stablehlo.add %a#0, %v : tensor<64x64xf32>
      %o = "stablehlo.outfeed"(%s, %a#1) {outfeed_config = ""} : (tensor<64x64xf32>, !stablehlo.token) -> !stablehlo.token
      stablehlo.return %i2, %s, %o : tensor<i32>, tensor<64x64xf32>, !stablehlo.token
    }
    %b:2 = "stablehlo.infeed"(%r#2) {infeed_config = "", layout = [[1, 0]]} : (!stablehlo.token) -> (tensor<64x64xf32>, !stablehlo.token)
    %s = stablehlo.add %b#0, %r#1 : tensor<64x64xf32>
    %o = "stablehlo.outfeed"(%s, %b#1) {outfeed_config = ""} : (tensor<64x64xf32>, !stablehlo.token) -> !stablehlo.token
    return %s : tensor<64x64xf32>
  }
}
