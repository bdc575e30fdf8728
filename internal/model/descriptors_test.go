package model_test

const scarceMode = "SCHEDLAB_TEST_SCARCE_MODE"

func serveScarce(string) int { return 0 }
