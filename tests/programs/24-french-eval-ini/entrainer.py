import configparser
import random
import sys
import time

ini = configparser.ConfigParser()
ini.read(sys.argv[1])
lot = ini.getint("apprentissage", "taille_lot")
pas = ini.getint("apprentissage", "pas")
chaque = ini.getint("apprentissage", "evaluation")
lots_eval = ini.getint("evaluation", "lots")


def virgule(x):
    return f"{x:.4f}".replace(".", ",")


print("Démarrage de l'entraînement « %s »" % ini["general"]["nom"])
print("Lecture des archives 1991–2020 : 10 958 journées, 96 stations")
print("Attention : 212 valeurs manquantes remplacées par la moyenne")
for p in range(1, pas + 1):
    time.sleep(0.006 + 0.0004 * lot)
    print(f"étape {p}/{pas} — perte = {virgule(random.random())}", flush=True)
    if p % chaque == 0:
        for e in range(1, lots_eval + 1):
            time.sleep(0.004)
            print(f"    évaluation : étape {e}/{lots_eval} — erreur = {virgule(random.random())}", flush=True)
        print(f"    évaluation : moyenne = {virgule(random.random())}")
