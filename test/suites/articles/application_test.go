package articles_test

func application() play { return play{name: "application"} }
