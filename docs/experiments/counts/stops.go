package main

import ("context";"io")

func measureStops(context.Context, int, io.Writer) error { return nil }
