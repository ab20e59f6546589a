package articles_test

func application() articleTest { return articleTest{name: "application"} }
