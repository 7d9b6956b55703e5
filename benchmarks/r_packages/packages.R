# Fits of R packages to the files that compare.py writes; run by it. Prints a line per package: name, version, seconds.
seconds <- function(code) { t <- system.time(code); unname(t[1] + t[2]) }
say <- function(name, s) cat(name, as.character(packageVersion(name)), s, "\n")
quietly <- function(name) suppressMessages(suppressWarnings(library(name, character.only = TRUE)))
save_matrix <- function(m, name) write.table(m, name, row.names = FALSE, col.names = FALSE)

x <- read.csv("answers.csv")
for (name in c("IsingFit", "IsingSampler", "bgms", "mgm", "NetworkComparisonTest", "bayesImageS")) quietly(name)

s <- seconds(fit <- IsingFit(x, plot = FALSE, progressbar = FALSE))
save_matrix(fit$weiadj, "IsingFit.txt"); say("IsingFit", s)

s <- seconds(fit <- EstimateIsing(as.matrix(x), responses = c(0L, 1L), method = "uni"))
save_matrix(fit$graph, "IsingSampler.txt"); say("IsingSampler", s)

s <- seconds(fit <- bgm(x, iter = 4000, warmup = 1000, interaction_prior = normal_prior(scale = 0.5),
  threshold_prior = normal_prior(scale = 2), edge_selection = FALSE, chains = 2, cores = 1,
  display_progress = "none", seed = 1, verbose = FALSE))
draws <- do.call(rbind, attr(fit, "raw_samples")$pairwise)
save_matrix(rbind(colMeans(draws), apply(draws, 2, sd)), "bgms.txt"); say("bgms", s)

s <- seconds(fit <- suppressMessages(mgm(as.matrix(x), type = rep("c", ncol(x)), level = rep(2, ncol(x)), k = 2,
  lambdaSel = "EBIC", pbar = FALSE, signInfo = FALSE, binarySign = TRUE)))
save_matrix(fit$pairwise$wadj, "mgm.txt"); say("mgm", s)

half <- seq_len(nrow(x) %/% 2)
set.seed(1)
s <- seconds(fit <- suppressMessages(NCT(x[half, ], x[-half, ], it = 200, binary.data = TRUE, test.edges = TRUE,
  progressbar = FALSE, verbose = FALSE)))
save_matrix(fit$einv.pvals[, 3], "NCT.txt"); say("NetworkComparisonTest", s)

y <- as.matrix(read.table("image.txt"))
mask <- matrix(1, nrow(y), ncol(y))
neighbours <- getNeighbors(mask, c(2, 2, 0, 0)); blocks <- getBlocks(mask, 2)
priors <- list(k = 2, mu = c(0, 1), mu.sd = c(1, 1), sigma = c(0.5, 0.5), sigma.nu = c(3, 3), beta = c(0, 2))
sink(tempfile())
set.seed(1)
s <- seconds(fit <- mcmcPotts(as.vector(y), neighbours, blocks, priors,
  list(algorithm = "ex", bandwidth = 0.15, adaptive = NA, auxiliary = 200, auxAlg = "SW"), 3000, 1000))
sink()
kept <- 1001:3000
save_matrix(rbind(c(mean(fit$beta[kept]), colMeans(fit$mu[kept, ])), c(sd(fit$beta[kept]), apply(fit$mu[kept, ], 2, sd))),
  "bayesImageS.txt"); say("bayesImageS", s)
