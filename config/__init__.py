"""The site around the app `jobs`: settings, urls, servers, and a demo to look at."""
